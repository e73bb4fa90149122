/** Which call each method of a World makes, and what its answers become. */
import { expect, test } from 'vitest';
import { errorNames } from '../../lib/world/errors.ts';
import type { CallResult } from '../../lib/world/calls.ts';
import type { World } from '../../lib/world/types.ts';
import { FakeTransport, answered, worldOver } from './fake-transport.ts';

const occurredAt = new Date('2026-11-25T00:00:00.000Z');
const run = { runId: 'wrun_1', status: 'completed', createdAt: occurredAt, output: new Uint8Array([0, 255]) };

test.each<[string, (world: World) => Promise<unknown>, string, object]>([
  ['runs.get', ({ runs }) => runs.get('wrun_1', { resolveData: 'none' }), 'runs.get', { runId: 'wrun_1', resolveData: 'none' }],
  ['runs.get without options', ({ runs }) => runs.get('wrun_1'), 'runs.get', { runId: 'wrun_1' }],
  [
    'runs.list',
    ({ runs }) => runs.list({ status: 'running', pagination: { limit: 2 } }),
    'runs.list',
    { status: 'running', pagination: { limit: 2 } },
  ],
  ['runs.list of all', ({ runs }) => runs.list(), 'runs.list', {}],
  ['steps.get', ({ steps }) => steps.get('wrun_1', 'step_1'), 'steps.get', { runId: 'wrun_1', stepId: 'step_1' }],
  ['steps.list', ({ steps }) => steps.list({ runId: 'wrun_1' }), 'steps.list', { runId: 'wrun_1' }],
  ['events.get', ({ events }) => events.get('wrun_1', 'evnt_1'), 'events.get', { runId: 'wrun_1', eventId: 'evnt_1' }],
  [
    'events.list',
    ({ events }) => events.list({ runId: 'wrun_1', pagination: { cursor: 'c', sortOrder: 'asc' } }),
    'events.list',
    { runId: 'wrun_1', pagination: { cursor: 'c', sortOrder: 'asc' } },
  ],
  [
    'events.listByCorrelationId',
    ({ events }) => events.listByCorrelationId({ runId: 'wrun_1', correlationId: 'step_1' }),
    'events.listByCorrelationId',
    { runId: 'wrun_1', correlationId: 'step_1' },
  ],
  ['hooks.get', ({ hooks }) => hooks.get('hook_1'), 'hooks.get', { hookId: 'hook_1' }],
  [
    'hooks.getByToken',
    ({ hooks }) => hooks.getByToken('token', { resolveData: 'none' }),
    'hooks.getByToken',
    { token: 'token', resolveData: 'none' },
  ],
  ['hooks.list', ({ hooks }) => hooks.list({ runId: 'wrun_1' }), 'hooks.list', { runId: 'wrun_1' }],
])('%s passes its arguments by name', async (_name, use, method, body) => {
  const transport = new FakeTransport(() => answered({ ...run }));
  expect(await use(worldOver(transport))).toEqual(run);
  expect(transport.calls).toEqual([{ method, body }]);
});

test('events.create sends the parameters that the service reads, and no function', async () => {
  const transport = new FakeTransport();
  const data = { eventType: 'step_completed', correlationId: 'step_1', eventData: { result: new Uint8Array([1]) } };
  const params = { occurredAt, sinceCursor: 'c', eventCount: 3, preloadEvents: true, replayEventObserver: () => {} };
  await worldOver(transport).events.create('wrun_1', data, params);
  expect(transport.calls[0]?.body).toEqual({ runId: 'wrun_1', data, params: { occurredAt, sinceCursor: 'c', eventCount: 3 } });
  await worldOver(transport).events.create(null, data);
  expect(transport.calls[1]?.body).toEqual({ runId: null, data, params: undefined });
});

test('events.createBatch sends each event with its own time', async () => {
  const transport = new FakeTransport(() => answered({ results: [] }));
  const event = { eventType: 'step_created', correlationId: 'step_1' };
  const batch = [{ event, occurredAt, computeInstanceId: 'i' }, { event }];
  expect(await worldOver(transport).events.createBatch('wrun_1', batch, { requestId: 'r' })).toEqual({ results: [] });
  expect(transport.calls[0]?.body).toEqual({
    runId: 'wrun_1',
    events: [
      { data: event, params: { occurredAt, computeInstanceId: 'i' } },
      { data: event, params: undefined },
    ],
    params: { requestId: 'r' },
  });
});

test('a published message has an idempotency key, so that its call can be repeated', async () => {
  const transport = new FakeTransport(() => answered({ messageId: 'm' }));
  const world = worldOver(transport, { deploymentId: async () => 'dpl_own' });
  const message = { runId: 'wrun_1' };
  expect(await world.queue('__wkf_workflow_w', message)).toEqual({ messageId: 'm' });
  await world.queue('__wkf_workflow_w', message, { idempotencyKey: 'k', deploymentId: 'dpl_1', delaySeconds: 5, specVersion: 5 });
  expect(transport.calls.map(({ body }) => body)).toEqual([
    {
      queueName: '__wkf_workflow_w',
      message,
      opts: { deploymentId: 'dpl_own', idempotencyKey: expect.stringMatching(/^[\w-]{36}$/) },
    },
    {
      queueName: '__wkf_workflow_w',
      message,
      opts: { deploymentId: 'dpl_1', idempotencyKey: 'k', delaySeconds: 5, specVersion: 5 },
    },
  ]);
});

test('a process that executes runs names its own deployment, and others ask for the active one', async () => {
  const transport = new FakeTransport(() => answered({ deploymentId: 'dpl_active' }));
  expect(await worldOver(transport).getDeploymentId()).toBe('dpl_active');
  const executing = worldOver(transport, { deploymentId: async () => 'dpl_own' });
  expect([await executing.getDeploymentId(), await executing.resolveLatestDeploymentId()]).toEqual(['dpl_own', 'dpl_active']);
});

test('a health check that names no deployment is for the active one, as the web pages of the SDK send it', async () => {
  const transport = new FakeTransport(({ method }) =>
    answered(method === 'deploymentId' ? { deploymentId: 'dpl_active' } : { messageId: 'msg_1' }),
  );
  const check = { __healthCheck: true, correlationId: 'c' };
  await worldOver(transport).queue('__wkf_workflow_health_check', check);
  await worldOver(transport).queue('__wkf_workflow_health_check', check, { deploymentId: 'dpl_named' });
  await worldOver(transport).queue('__wkf_workflow_w', { runId: 'wrun_1' });
  expect(transport.calls.flatMap(({ body }) => ('opts' in body ? [body['opts']] : []))).toMatchObject([
    { deploymentId: 'dpl_active' },
    { deploymentId: 'dpl_named' },
    { idempotencyKey: expect.any(String) },
  ]);
  expect(transport.calls).toHaveLength(4);
});

test('the key of a run is asked for once, and a caller cannot change it', async () => {
  const transport = new FakeTransport(({ body }) => answered({ key: body['runId'] === 'wrun_1' ? new Uint8Array(32) : null }));
  const world = worldOver(transport);
  (await world.getEncryptionKeyForRun('wrun_1'))?.fill(1);
  expect(await world.getEncryptionKeyForRun({ runId: 'wrun_1' })).toEqual(new Uint8Array(32));
  expect(await world.getEncryptionKeyForRun('wrun_2')).toBeUndefined();
  expect(transport.calls).toHaveLength(2);
});

test('methods work without their object, because the SDK takes them out of it', async () => {
  const { getDeploymentId, createQueueHandler, specVersion } = worldOver(
    new FakeTransport(() => answered({ deploymentId: 'd' })),
  );
  expect([await getDeploymentId(), typeof createQueueHandler('__wkf_workflow_', async () => {}), specVersion]).toEqual([
    'd',
    'function',
    5,
  ]);
});

const refused = (code: string, status: number): CallResult => ({ kind: 'refused', status, code, message: 'no', retryAfter: 7 });

test.each([...Object.entries(errorNames), ['invalid_request', 'WorkflowWorldError']])(
  'the code %s is the error %s of the SDK',
  async (code, name) => {
    const world = worldOver(new FakeTransport(() => refused(code, 409)));
    const thrown = world.hooks.getByToken('token').catch((error: unknown) => error);
    expect(await thrown).toMatchObject({
      name,
      status: 409,
      code,
      retryAfter: 7,
      token: 'token',
      message: 'hooks.getByToken: no',
    });
    const error = await thrown;
    expect([error instanceof Error, Object.keys(Object(error)).includes('name')]).toEqual([true, false]);
  },
);

test.each([
  ['transport', 'TRANSPORT'],
  ['timeout', 'TIMEOUT'],
] as const)('a failure of the %s has a code for which the SDK repeats the message', async (reason, code) => {
  const cause = new Error('socket');
  const world = worldOver(new FakeTransport(() => ({ kind: 'failed', reason, message: 'lost', cause })));
  const error = await world.runs.get('wrun_1').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'WorkflowWorldError', code, cause });
  expect(error).not.toHaveProperty('status');
});

test('an answer of another shape is an error that names the field', async () => {
  const world = worldOver(new FakeTransport(() => answered({ deployment: 'd' })));
  await expect(world.getDeploymentId()).rejects.toMatchObject({
    code: 'UNREADABLE_ANSWER',
    status: 502,
    message: expect.stringContaining('/deploymentId'),
  });
});
