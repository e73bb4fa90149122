/** Values of DevKit runs that clients upload: who may name them, where they are read, and when they expire. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { WorldRequest } from '../../lib/engine/devkit/decide.ts';
import { type RunAddress, environment, projectId } from '../../lib/engine/ids.ts';
import { type JsonValue, inline } from '../../lib/engine/json.ts';
import { after, days, durationMs } from '../../lib/engine/time.ts';
import { createBatch } from '../../lib/service/kinds/devkit/create-batch.ts';
import { createWorldBatch } from '../../lib/service/kinds/devkit/events-of-world.ts';
import { publishDevKitMessage } from '../../lib/service/kinds/devkit/publish-devkit-message.ts';
import { readChunks, writeStream } from '../../lib/service/kinds/devkit/streams.ts';
import { createUpload, maxValueBytes } from '../../lib/service/kinds/devkit/uploads.ts';
import { getRun, getStep } from '../../lib/service/kinds/devkit/world-reads.ts';
import { rerunRun } from '../../lib/service/runs/rerun-run.ts';
import { type DevKitEnv, answered, completed, createDevKitEnv, creation, step } from './devkit-test-env.ts';
import { scope } from './test-env.ts';

const content = Buffer.alloc(1_000_000, 'value ');
const sha256 = createHash('sha256').update(content).digest('hex');
const named = { sha256, bytes: content.byteLength };
const tag: JsonValue = { $stored: named };
const base64 = content.toString('base64');

async function upload({ env }: DevKitEnv, run: RunAddress): Promise<void> {
  const { upload: address } = answered(await createUpload(env.deps, { scope: run, runId: run.runId, ...named }));
  expect(address).toMatchObject({ method: 'PUT', headers: { 'content-length': String(named.bytes) } });
  env.ports.uploads.receive(address.url, content);
}

/** The bytes at the address in an answer. */
function fetched({ env }: DevKitEnv, value: unknown): string {
  const url = Object(Object(value).$stored).url;
  expect(value).toEqual({ $stored: { url: expect.any(String), format: 'bytes' } });
  return Buffer.from(env.ports.uploads.download(String(url)) ?? []).toString('base64');
}

const stepWith = (value: JsonValue): WorldRequest => ({ ...step(), payload: inline(value) });

describe('an uploaded value', () => {
  test('is the input and the result of a step, at an address', async () => {
    const devKit = await createDevKitEnv();
    const run = await devKit.start();
    await upload(devKit, run);
    const created = answered(await devKit.ask(run, stepWith(tag)));
    expect(fetched(devKit, created.step?.['input'])).toBe(base64);
    await devKit.ask(run, { event: 'step_started', correlationId: 'step_1' });
    answered(await devKit.ask(run, { ...completed(), payload: inline(tag) }));
    const read = answered(await getStep(devKit.world, scope, run.runId, 'step_1', 'all'));
    expect([fetched(devKit, read['input']), fetched(devKit, read['output'])]).toEqual([base64, base64]);
    expect(answered(await getStep(devKit.world, scope, run.runId, 'step_1', 'none'))).not.toHaveProperty('input');
  });

  test('is the input of a run that does not exist yet, by its event and by its message', async () => {
    for (const isMessage of [false, true]) {
      const devKit = await createDevKitEnv();
      const run = devKit.newRun();
      await upload(devKit, run);
      const { data = {} } = creation(devKit.app);
      const runInput = { ...data, specVersion: 5, input: tag };
      const request = { scope, queueName: '__wkf_workflow_w', message: { runId: run.runId, runInput } };
      const result = isMessage
        ? await publishDevKitMessage(devKit.world, request, undefined)
        : await devKit.ask(run, { ...creation(devKit.app), payload: inline(tag) });
      answered<object>(result);
      expect(fetched(devKit, answered(await getRun(devKit.world, scope, run.runId, 'all'))['input'])).toBe(base64);
    }
  });

  test('is in the events of a batch', async () => {
    const devKit = await createDevKitEnv();
    const run = await devKit.start();
    await upload(devKit, run);
    const requests = [stepWith(tag), { ...step('step_2'), payload: inline({ $bytes: 'AP8=' }) }];
    const { results } = answered(await createWorldBatch(devKit.world, { run, requests, resolveData: 'all' }));
    expect(fetched(devKit, Object(results[0]?.['step'])['input'])).toBe(base64);
    expect(results[1]).toMatchObject({ step: { input: { $bytes: 'AP8=' } } });
  });

  test('is a chunk of a stream, between others', async () => {
    const devKit = await createDevKitEnv();
    const run = await devKit.start();
    await upload(devKit, run);
    const stream = { scope, runId: run.runId, name: 'strm_1' };
    answered(await writeStream(devKit.env.deps, stream, [{ $bytes: 'AA==' }, tag, { $bytes: 'AQ==' }]));
    const { data, done } = answered(await readChunks(devKit.env.deps, stream, {}));
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect([data[0]?.data, fetched(devKit, data[1]?.data), data[2]?.data, done]).toEqual([
      { $bytes: 'AA==' },
      base64,
      { $bytes: 'AQ==' },
      false,
    ]);
  });

  test('belongs to a rerun too, after the first run is deleted', async () => {
    const devKit = await createDevKitEnv();
    const { env } = devKit;
    const run = devKit.newRun();
    await upload(devKit, run);
    answered(await devKit.ask(run, { ...creation(devKit.app), payload: inline(tag) }));
    await devKit.ask(run, { event: 'run_cancelled' });
    const rerun = await rerunRun(env.worker, { sourceRun: run, idempotencyKey: 'r1', bodyHash: 'h' });
    const copy = 'runId' in rerun ? rerun.runId : '';
    await env.deps.blobs.removeAll(scope, `~devkit/${run.runId}/`);
    expect(fetched(devKit, answered(await getRun(devKit.world, scope, copy, 'all'))['input'])).toBe(base64);
  });
});

describe('a digest is refused', () => {
  const refusal = { kind: 'refused', code: 'upload_not_found' };

  test('if nothing was uploaded', async () => {
    const devKit = await createDevKitEnv();
    const run = await devKit.start();
    expect(await devKit.ask(run, stepWith(tag))).toMatchObject({
      ...refusal,
      message: '/data/eventData/input: no upload of these bytes for this run was found',
    });
    expect(answered(await getRun(devKit.world, scope, run.runId, 'none'))).toMatchObject({ status: 'running' });
    const stream = { scope, runId: run.runId, name: 'strm_1' };
    expect(await writeStream(devKit.env.deps, stream, [tag])).toMatchObject(refusal);
    expect(answered(await readChunks(devKit.env.deps, stream, {})).data).toEqual([]);
  });

  test('if it was uploaded for another run, project or environment, or is a value of another run', async () => {
    const devKit = await createDevKitEnv();
    const [run, other] = [await devKit.start(), await devKit.start()];
    const elsewhere: readonly RunAddress[] = [
      other,
      { ...run, projectId: projectId('another') },
      { ...run, environment: environment('staging') },
    ];
    for (const address of elsewhere) await upload(devKit, address);
    answered(await devKit.ask(other, stepWith(tag)));
    expect(await devKit.ask(run, stepWith(tag))).toMatchObject(refusal);
  });

  test('with another size', async () => {
    const devKit = await createDevKitEnv();
    const run = await devKit.start();
    await upload(devKit, run);
    expect(await devKit.ask(run, stepWith({ $stored: { ...named, bytes: named.bytes - 1 } }))).toMatchObject(refusal);
  });

  test('after the upload has expired', async () => {
    const devKit = await createDevKitEnv();
    const run = await devKit.start();
    await upload(devKit, run);
    devKit.env.ports.deleteExpired(after(devKit.env.deps.clock.now(), durationMs(days(1) + 1)));
    expect(await devKit.ask(run, stepWith(tag))).toMatchObject(refusal);
  });
});

test('an upload that no event names expires after a day, and a named one with its run', async () => {
  const devKit = await createDevKitEnv();
  const run = await devKit.start();
  await upload(devKit, run);
  answered(await devKit.ask(run, stepWith(tag)));
  const { deps, ports } = devKit.env;
  const head = await deps.log.head(run);
  const uploadedFor = ports.expiriesOf(run, [`~devkit/${run.runId}/`]).filter(({ name }) => name.includes(sha256));
  expect(uploadedFor.map(({ name, expiresAt }) => [name.includes('upload-'), expiresAt])).toEqual([
    [true, after(deps.clock.now(), days(1))],
    [false, head?.expiresAt],
  ]);
});

test.each<[string, JsonValue]>([
  ['with another property', { $stored: { ...named, key: 'run/other' } }],
  ['with a path as its digest', { $stored: { ...named, sha256: '../../other' } }],
  ['without a size', { $stored: { sha256 } }],
  ['inside of a value', { list: [tag] }],
])('a name of an upload is refused %s', async (_case, value) => {
  const devKit = await createDevKitEnv();
  const run = await devKit.start();
  await upload(devKit, run);
  expect(await devKit.ask(run, stepWith(value))).toMatchObject({
    code: 'invalid_request',
    pointer: '/data/eventData/input',
  });
});

test('a name of an upload beside the payload is refused, and escaped properties are no name', async () => {
  const devKit = await createDevKitEnv();
  const run = devKit.newRun();
  await upload(devKit, run);
  const request = creation(devKit.app);
  const withContext = (value: JsonValue): WorldRequest => ({
    ...request,
    data: { ...request.data, executionContext: { value } },
  });
  expect(await devKit.ask(run, withContext(tag))).toMatchObject({ code: 'invalid_request' });
  expect(await devKit.ask(run, withContext({ $object: { $stored: 'mine' } }))).toMatchObject({ kind: 'answered' });
  const message = { runId: run.runId, stepInput: { input: tag } };
  const published = await publishDevKitMessage(devKit.world, { scope, queueName: '__wkf_workflow_w', message }, undefined);
  expect(published).toMatchObject({ code: 'invalid_request', pointer: expect.stringContaining('/message') });
});

describe('an address', () => {
  test('is refused above the largest value, and for a run that could not be created', async () => {
    const { env, newRun } = await createDevKitEnv();
    const { runId } = newRun();
    const ask = (request: object) => createUpload(env.deps, { scope, runId, ...named, ...request });
    expect(await ask({ bytes: maxValueBytes })).toMatchObject({ kind: 'answered' });
    expect(await ask({ bytes: maxValueBytes + 1 })).toMatchObject({ code: 'payload_too_large' });
    expect(await ask({ runId: 'wrun_01BX5ZZKBKACTAV9WEVGEMMVRY' })).toMatchObject({ code: 'invalid_request' });
    expect(await ask({ runId: 'run' })).toMatchObject({ code: 'run_not_found' });
  });
});

test('a value of JSON that is too large for an answer has an address too', async () => {
  const devKit = await createDevKitEnv();
  const run = await devKit.start();
  const value = { $bytes: base64 };
  const created = answered(await devKit.ask(run, stepWith(value)));
  const input = Object(Object(created.step?.['input']).$stored);
  expect(input).toEqual({ url: expect.any(String), format: 'json' });
  expect(Buffer.from(devKit.env.ports.uploads.download(input.url) ?? []).toString()).toBe(JSON.stringify(value));
  const batch = await createBatch(devKit.world, { run, requests: [], resolveData: 'all' });
  expect(batch).toMatchObject({ kind: 'answered' });
});
