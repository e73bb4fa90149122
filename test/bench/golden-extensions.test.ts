/**
 * Requests of one extension of a deadline, for runs of 1, 100 and 3,000 commits, and for a run with large values in the bucket: its
 * commit, the due entry, the message, and the job that moves the expiries. Compared with `bench/golden/extensions.json`.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { S3Client } from '@aws-sdk/client-s3';
import * as z from 'zod';
import { S3Blobs } from '../../lib/aws/blobs.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { type RunAddress, eventId } from '../../lib/engine/ids.ts';
import { type Commit, nextCommitNo } from '../../lib/engine/log/commit.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import { scheduleRetention } from '../../lib/service/commit/schedule-retention.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { extendRetention } from '../../lib/service/execution/extend-retention.ts';
import { blobPrefixOf } from '../../lib/service/run-log/payloads.ts';
import { advanceFold, readRunFold } from '../../lib/service/run-log/read-run-fold.ts';
import { saveSnapshot } from '../../lib/service/run-log/snapshots.ts';
import { createControlTable, createRunsTable, dynamoAt, dynamoImplementations } from '../contract/emulators/dynamo.ts';
import type { Emulator } from '../contract/emulators/emulator-process.ts';
import { type QueuesAndBucket, startQueuesAndBucket } from '../contract/emulators/fauxqs.ts';
import { commit, creation, freshRun, noon } from '../contract/samples.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { inTier } from '../tier.ts';

const golden = z
  .record(z.string(), z.record(z.string(), z.number()))
  .parse(JSON.parse(readFileSync(new URL('../../bench/golden/extensions.json', import.meta.url), 'utf8')));

const [implementation] = dynamoImplementations;
if (implementation === undefined) throw new Error('no DynamoDB emulator is available');
let emulator: Emulator;
let client: DynamoDBClient;
let bucket: QueuesAndBucket;
beforeAll(async () => {
  emulator = await implementation.start();
  client = dynamoAt(emulator.endpoint);
  bucket = await startQueuesAndBucket();
  bucket.server.createBucket('payloads-bucket');
});
afterAll(async () => {
  client.destroy();
  await bucket.close();
  await emulator.close();
});

/** Commit n has the one event n. */
const dense = (number: number, facts: Partial<Commit> = {}): Commit =>
  commit(number, { firstEventId: eventId(number), at: noon, ...facts });

const deadlineAt = after(noon, days(7));
const concurrentPuts = 50;

/** A run that waits at its deadline. As the product, it has stored a snapshot where one was due. */
async function waitingRun(deps: Deps, run: RunAddress, commits: number): Promise<Commit> {
  const created = creation(run, { deadlineAt, deadlineLimitAt: after(noon, days(365)), commit: dense(1) });
  await deps.log.create(created);
  const numbers = Array.from({ length: commits - 1 }, (_, index) => index + 2);
  for (let first = 0; first < numbers.length; first += concurrentPuts) {
    const batch = numbers.slice(first, first + concurrentPuts);
    await Promise.all(batch.map((number) => deps.log.put(run, dense(number), created.expiresAt)));
  }
  const fold = await readRunFold({ log: deps.log }, run);
  if (fold === undefined || fold.state.asOf === 0) throw new Error('no run');
  await saveSnapshot(deps, fold);
  const extension = { type: 'DEADLINE_EXTENDED', deadlineAt: after(noon, days(14)) } as const;
  return dense(nextCommitNo(fold.state.asOf), { at: deadlineAt, events: [extension] });
}

type Sender = Pick<DynamoDBClient | S3Client, 'send'>;

/** Counts each request of the client by its name. @returns ends the counting */
function counting(client: Sender, count: (name: string) => void): () => void {
  const send: unknown = client.send.bind(client);
  Object.assign(client, {
    send: (command: object, ...rest: unknown[]): unknown => {
      count(command.constructor.name.replace(/(V2)?Command$/, ''));
      return typeof send === 'function' ? send(command, ...rest) : undefined;
    },
  });
  return () => void Object.assign(client, { send });
}

async function requestsOf(commits: number, largeValues = 0): Promise<Record<string, number>> {
  const tables = { runs: await createRunsTable(client), control: await createControlTable(client) };
  const log = new DynamoRunLog(tables.runs);
  const memory = memoryPorts({ startAt: deadlineAt });
  const counts: Record<string, number> = {};
  const count = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);
  const deps: Deps = {
    ...memory,
    log,
    index: new DynamoRunIndex(tables, log),
    jobs: overrideMethods(memory.jobs, { sendDelayed: async () => count('SendMessage') }),
    // A page of large values is one listing, and a copy for each of them.
    blobs: new S3Blobs(bucket.s3, 'payloads-bucket', memory.clock),
    settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false },
  };
  const run = freshRun();
  const extension = await waitingRun(deps, run, commits);
  const fold = await readRunFold(deps, run);
  if (fold === undefined) throw new Error('no run');
  for (let index = 0; index < largeValues; index += 1)
    await deps.blobs.put(run, `${blobPrefixOf(fold.head)}${index}`, 'large', fold.head.expiresAt);
  const endCounting = [counting(client, count), counting(bucket.s3, count)];
  await log.put(run, extension, fold.head.expiresAt);
  advanceFold(fold, extension);
  await scheduleRetention(deps, fold.head);
  memory.clock.set(after(deadlineAt, minutes(15)));
  await extendRetention({ deps }, { kind: 'retention', run }, after(deadlineAt, minutes(30)));
  for (const end of endCounting) end();
  expect((await log.head(run))?.expiresAt).toBe(fold.head.expiresAt);
  return counts;
}

const sizes = [1, 100, 3_000] as const;

test.each(sizes.slice(0, inTier({ quick: 2, deep: 3 })))(
  'an extension of a run of %i commits costs the golden requests',
  { timeout: 120_000 },
  async (commits) => {
    const counts = await requestsOf(commits);
    expect(counts).toEqual(golden[`${commits} commits`]);
    // One update for each commit above the first, one for the extension, and one each for a snapshot and the head.
    expect(counts['UpdateItem']).toBeLessThanOrEqual(commits + 2);
  },
);

test('an extension of a run with large values costs a listing, and a copy for each value', async () => {
  expect(await requestsOf(1, 3)).toEqual(golden['1 commits, 3 large values']);
});
