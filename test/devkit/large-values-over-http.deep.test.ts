/** Values above the limits of requests, over HTTP and through the World of an application, on the embedded cloud. The deep tier has 50 MB. */
import { createHash, randomFillSync } from 'node:crypto';
import { ulid } from 'ulid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { maxValueBytes } from '../../lib/service/kinds/devkit/uploads.ts';
import { connectionOf } from '../../lib/world/settings.ts';
import { HttpTransport } from '../../lib/world/http-transport.ts';
import type { World } from '../../lib/world/types.ts';
import { buildWorld } from '../../lib/world/world.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';

let cloud: InProcessCloud;
let world: World;
let deploymentId: string;
const runId = `wrun_${ulid()}`;

const worldWith = (apiKey: string): World =>
  buildWorld({
    transport: new HttpTransport(() => connectionOf({ STEPWELL_URL: cloud.url, STEPWELL_API_KEY: apiKey })),
    host: {
      capabilities: { hookResumeDedup: true },
      deploymentId: async () => deploymentId,
      runtimeDeadline: () => undefined,
      checkDelivery: async () => undefined,
      start: async () => {},
    },
    specVersion: () => 5,
  });

beforeAll(async () => {
  cloud = await startInProcessCloud();
  const { body } = await cloud.call('POST', '/v1/world/apps', { baseUrl: 'https://app.example.com' });
  ({ deploymentId } = z.object({ deploymentId: z.string() }).parse(body));
  world = worldWith(cloud.apiKey);
});
afterAll(() => cloud.stop());

/** more than API Gateway takes */
const largest = randomFillSync(new Uint8Array(12_000_000));
/** more than Lambda takes */
const large = largest.slice(0, 4_500_000);
const digestOf = (bytes: unknown): string =>
  bytes instanceof Uint8Array ? createHash('sha256').update(bytes).digest('hex') : `no bytes: ${JSON.stringify(bytes)}`;
const [digestOfLargest, digest] = [digestOf(largest), digestOf(large)];

const workflowName = 'workflow//./workflows/order//order';
const record = (data: object): Promise<unknown> => world.events.create(runId, { specVersion: 5, ...data });
const shape = {
  run: z.object({ status: z.string(), input: z.unknown().optional(), output: z.unknown().optional() }),
  step: z.object({ input: z.unknown(), output: z.unknown() }),
  events: z.object({
    data: z.array(z.object({ eventType: z.string(), eventData: z.record(z.string(), z.unknown()).optional() })),
  }),
};

test('a value of 12 MB is the input of a run, by its event and by its message at once', async () => {
  const eventData = { deploymentId, workflowName, input: largest };
  await Promise.all(
    [
      record({ eventType: 'run_created', eventData }),
      world.queue(
        `__wkf_workflow_${workflowName}`,
        { runId, runInput: { ...eventData, specVersion: 5 } },
        { delaySeconds: 3_600 },
      ),
    ].map((each) => each.catch((error: unknown) => expect(error).toMatchObject({ name: 'EntityConflictError' }))),
  );
  expect(digestOf(shape.run.parse(await world.runs.get(runId)).input)).toBe(digestOfLargest);
});

test('a value above the limit of a request is one of a step, of a hook, and the output of the run', async () => {
  await record({ eventType: 'run_started' });
  const stepData = { stepName: 'step//./a//b', input: large };
  await record({ eventType: 'step_started', correlationId: 'step_1', eventData: stepData });
  await record({ eventType: 'step_completed', correlationId: 'step_1', eventData: { result: large } });
  const step = shape.step.parse(await world.steps.get(runId, 'step_1'));
  expect([digestOf(step.input), digestOf(step.output)]).toEqual([digest, digest]);
  await record({ eventType: 'hook_created', correlationId: 'hook_1', eventData: { token: `t-${runId}` } });
  await record({ eventType: 'hook_received', correlationId: 'hook_1', eventData: { payload: large } });
  await record({ eventType: 'run_completed', eventData: { output: large } });
  expect(digestOf(shape.run.parse(await world.runs.get(runId)).output)).toBe(digest);
  const { data } = shape.events.parse(await world.events.list({ runId }));
  const values = data.flatMap(({ eventType, eventData = {} }) =>
    Object.values(eventData).flatMap((value) => (value instanceof Uint8Array ? [[eventType, digestOf(value)]] : [])),
  );
  expect(values).toEqual([
    ['run_created', digestOfLargest],
    ...['step_created', 'step_completed', 'hook_received', 'run_completed'].map((event) => [event, digest]),
  ]);
});

test('it is a chunk of a stream', async () => {
  await world.streams.writeMulti(runId, 'strm_1', [new Uint8Array([1]), large, new Uint8Array([2])]);
  await world.streams.close(runId, 'strm_1');
  const digests: string[] = [];
  for await (const chunk of await world.streams.get(runId, 'strm_1')) digests.push(digestOf(chunk));
  expect(digests).toEqual([digestOf(new Uint8Array([1])), digest, digestOf(new Uint8Array([2]))]);
});

test('the API shows the size of such a value', async () => {
  const { body } = await cloud.call('GET', `/v1/runs/${runId}`);
  expect(body).toMatchObject({ status: 'completed' });
  expect(JSON.stringify(body).length).toBeLessThan(10_000);
});

test('a larger value is refused with a code, before it is sent', async () => {
  const tooLarge = new Uint8Array(maxValueBytes + 1);
  const refused = world.events.create(runId, {
    eventType: 'hook_received',
    correlationId: 'h',
    eventData: { payload: tooLarge },
  });
  await expect(refused).rejects.toMatchObject({ status: 413, code: 'payload_too_large' });
});

test('a digest of another project is refused, and its upload is not read', async () => {
  const otherKey = await cloud.createKey('--project', 'other', '--scopes', 'world:proxy');
  const others = worldWith(otherKey);
  const stored = { $stored: { sha256: digest, bytes: large.byteLength } };
  const { status, body } = await cloud.call(
    'POST',
    '/v1/world/events/create',
    { runId, data: { eventType: 'run_created', eventData: { deploymentId, workflowName, input: stored } } },
    { authorization: `Bearer ${otherKey}` },
  );
  expect([status, body]).toEqual([409, expect.objectContaining({ code: 'upload_not_found' })]);
  await expect(others.runs.get(runId)).rejects.toMatchObject({ name: 'WorkflowRunNotFoundError' });
});

const created = z.object({ upload: z.object({ url: z.string(), headers: z.record(z.string(), z.string()) }) });

test('an address takes the bytes that were named, and nothing else', async () => {
  const content = new Uint8Array([1, 2, 3]);
  const request = { runId, sha256: digestOf(content), bytes: content.byteLength };
  const { body } = await cloud.call('POST', '/v1/world/uploads', request);
  const { upload } = created.parse(body);
  const put = async (headers: Readonly<Record<string, string>>, bytes: Uint8Array<ArrayBuffer>): Promise<number> =>
    (await fetch(upload.url, { method: 'PUT', headers, body: bytes })).status;
  expect(await put(upload.headers, new Uint8Array([1, 2, 4]))).toBe(400);
  const { 'x-amz-tagging': lifetime, ...withoutLifetime } = upload.headers;
  expect(lifetime).toMatch(/^stepwell-days=[12]$/);
  expect(await put(withoutLifetime, content)).toBe(403);
  expect(await put({ ...upload.headers, 'x-amz-tagging': 'stepwell-days=4400' }, content)).toBe(403);
  expect(await put(upload.headers, content)).toBe(200);
  expect((await fetch(upload.url)).status).toBe(403);
});
