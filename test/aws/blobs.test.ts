/** Large values in S3: how many requests are open at once, and which values are read again. */
import { createHash } from 'node:crypto';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { S3Blobs, maxConcurrentValues } from '../../lib/aws/blobs.ts';
import { after, days, instant } from '../../lib/engine/time.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';
import { type QueuesAndBucket, startQueuesAndBucket } from '../contract/emulators/fauxqs.ts';

const scope = { projectId: projectId('acme'), environment: environment('test') };
const now = instant(Date.UTC(2026, 0, 1));

test('the values of a wide fan-out are stored and read with a bounded number of requests', async () => {
  let open = 0;
  let most = 0;
  let handled = 0;
  const requestHandler = {
    handle: async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      handled += 1;
      return { response: { statusCode: 200, headers: {}, body: new Uint8Array() } };
    },
  };
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const client = new S3Client({ region: 'eu-west-1', credentials, requestHandler });
  const blobs = new S3Blobs(client, 'payloads', { now: () => now });
  const all = Array.from({ length: 200 }, (_, index) => blobs.put(scope, `run/${index}`, { index }, after(now, days(30))));
  await Promise.all(all);
  expect({ handled, most }).toEqual({ handled: 200, most: maxConcurrentValues });
});

describe('a value whose key is its digest', () => {
  const expiresAt = after(now, days(30));
  const keyOf = (value: unknown): string => `run/${createHash('sha256').update(JSON.stringify(value)).digest('hex')}`;
  const large = (letter: string, length = 900_000): string => letter.repeat(length);
  let services: QueuesAndBucket;
  beforeAll(async () => {
    services = await startQueuesAndBucket();
    services.server.createBucket('payloads');
  });
  afterAll(() => services.close());

  /** Another process has another cache. @returns its store, and how many objects it has read */
  const startProcess = () => {
    let reads = 0;
    const client = new Proxy(services.s3, {
      get: (target, name) =>
        name === 'send'
          ? (command: GetObjectCommand) => {
              if (command instanceof GetObjectCommand) reads += 1;
              return target.send(command);
            }
          : Reflect.get(target, name),
    });
    return { blobs: new S3Blobs(client, 'payloads', { now: () => now }), reads: () => reads };
  };

  test('is not read by the process that stored it, and once by another one', async () => {
    const [writer, reader] = [startProcess(), startProcess()];
    const value = { orders: [1, 2, 3] };
    await writer.blobs.put(scope, keyOf(value), value, expiresAt);
    for (let count = 0; count < 3; count += 1) {
      expect(await writer.blobs.get(scope, keyOf(value))).toEqual(value);
      expect(await reader.blobs.get(scope, keyOf(value))).toEqual(value);
    }
    expect([writer.reads(), reader.reads()]).toEqual([0, 1]);
  });

  test('is gone for the process that deleted its run, and not found under the key of another scope', async () => {
    const { blobs } = startProcess();
    await blobs.put(scope, keyOf('a'), 'a', expiresAt);
    expect(await blobs.get({ ...scope, environment: environment('other') }, keyOf('a'))).toBeUndefined();
    await blobs.removeAll(scope, 'run/');
    expect(await blobs.get(scope, keyOf('a'))).toBeUndefined();
  });

  test('that is not in the bucket is looked for again', async () => {
    const [early, writer] = [startProcess(), startProcess()];
    expect(await early.blobs.get(scope, keyOf('late'))).toBeUndefined();
    await writer.blobs.put(scope, keyOf('late'), 'late', expiresAt);
    expect(await early.blobs.get(scope, keyOf('late'))).toBe('late');
  });

  test('another key is read each time, because its value may change', async () => {
    const [one, other] = [startProcess(), startProcess()];
    await one.blobs.put(scope, 'run/snapshot', 1, expiresAt);
    await other.blobs.put(scope, 'run/snapshot', 2, expiresAt);
    expect(await one.blobs.get(scope, 'run/snapshot')).toBe(2);
  });

  test('a process keeps four megabytes of them, and none above one megabyte', async () => {
    const { blobs, reads } = startProcess();
    const values = ['a', 'b', 'c', 'd', 'e'].map((letter) => large(letter));
    for (const value of [...values, large('f', 1_100_000)]) await blobs.put(scope, keyOf(value), value, expiresAt);
    for (const value of values.slice(1)) await blobs.get(scope, keyOf(value));
    expect(reads()).toBe(0);
    for (const value of [large('f', 1_100_000), large('a')]) expect(await blobs.get(scope, keyOf(value))).toBe(value);
    expect(reads()).toBe(2);
  });
});
