/** Calls of the World by name: in the process that runs deployed code, and in the function of the World. */
import { expect, test } from 'vitest';
import { WorldFunction } from '../../lib/aws/world-function.ts';
import { codeWorldOf } from '../../functions/code/code-world.ts';
import { handleWorldCall, isWorldCall } from '../../functions/world/handle-call.ts';
import { toolsOf } from '../../functions/api/operation.ts';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { WorldAnswer, WorldCalls } from '../../lib/ports/world-calls.ts';
import { createDevKitEnv, serialized } from '../service/devkit-test-env.ts';
import { scope } from '../service/test-env.ts';
import { Logger } from '@aws-lambda-powertools/logger';
import type { LambdaClient } from '@aws-sdk/client-lambda';

const logger = new Logger({ logLevel: 'SILENT' });

/** What a process without permissions for other runs would pass on. */
const recorded = (): WorldCalls & { readonly methods: string[] } => {
  const methods: string[] = [];
  return { methods, call: async (_scope, method) => (methods.push(method), { kind: 'answered', json: '"elsewhere"' }) };
};

const parsed = (answer: WorldAnswer) =>
  answer.kind === 'answered' ? { kind: answer.kind, value: JSON.parse(answer.json) } : answer;

const started = async () => {
  const devKit = await createDevKitEnv();
  const run = await devKit.start();
  const others = recorded();
  const world = codeWorldOf(devKit.env.worker, logger, others);
  const call = async (method: string, body: JsonValue) => parsed(await world.call(scope, method, body));
  return { devKit, run, others, world, call };
};

const other = 'wrun_01M8AKX6Q250V5Q62QQEA27GVN';

test('calls about a known run are made here, with their bodies in the path, in the query or in the body of their route', async () => {
  const { run, others, call } = await started();
  const { runId } = run;
  const data = { eventType: 'step_created', correlationId: 'step_1', eventData: { stepName: 'step//./a//b', input: serialized } };
  expect(await call('events.create', { runId, data })).toMatchObject({ kind: 'answered', value: { step: { stepId: 'step_1' } } });
  expect(await call('runs.get', { runId, resolveData: 'none' })).toMatchObject({ value: { runId, status: 'running' } });
  expect(await call('steps.get', { runId, stepId: 'step_1' })).toMatchObject({ value: { input: serialized } });
  expect(await call('events.list', { runId })).toMatchObject({ value: { data: [{}, {}, {}], hasMore: false } });
  expect(await call('streams.write', { runId, name: 'strm_1', chunks: [{ $bytes: 'AP8=' }] })).toMatchObject({
    kind: 'answered',
  });
  expect(await call('streams.chunks', { runId, name: 'strm_1' })).toMatchObject({
    value: { data: [{ index: 0, data: { $bytes: 'AP8=' } }] },
  });
  expect(await call('streams.list', { runId })).toEqual({ kind: 'answered', value: ['strm_1'] });
  expect(await call('queue.publish', { queueName: '__wkf_workflow_w', message: { runId } })).toMatchObject({
    value: { messageId: expect.any(String) },
  });
  expect(others.methods).toEqual([]);
});

test('a refusal has the status and the code of the route', async () => {
  const { run, call } = await started();
  const { runId } = run;
  const data = { eventType: 'step_started', correlationId: 'step_9' };
  expect(await call('events.create', { runId, data })).toMatchObject({ kind: 'refused', status: 404, code: 'step_not_found' });
  expect(await call('events.create', { runId, data: { eventType: 'noop' } })).toMatchObject({
    status: 400,
    code: 'invalid_request',
    message: expect.stringContaining('/data/eventType'),
  });
  expect(await call('queue.publish', { queueName: 'a queue', message: { runId } })).toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('/queueName'),
  });
  expect(await call('runs.remove', { runId })).toMatchObject({ kind: 'refused', code: 'outside_of_run' });
});

test.each<[string, JsonValue]>([
  ['runs.get', { runId: other }],
  ['events.create', { runId: other, data: { eventType: 'run_created' } }],
  ['queue.publish', { queueName: '__wkf_workflow_w', message: { runId: other } }],
  ['hooks.getByToken', { token: 't' }],
  ['runs.list', {}],
  ['deploymentId', {}],
])('%s about another run goes to the function of the World', async (method, body) => {
  const { devKit, others, call } = await started();
  expect(await call(method, body)).toEqual({ kind: 'answered', value: 'elsewhere' });
  expect(others.methods).toEqual([method]);
  const alone = codeWorldOf(devKit.env.worker, logger, undefined);
  expect(await alone.call(scope, method, body)).toMatchObject({ kind: 'refused', code: 'outside_of_run' });
});

test('a key of a run comes from the function of the World alone, and is not asked for where runs are not encrypted', async () => {
  const { devKit, run, others, call } = await started();
  const body = { runId: run.runId };
  expect(await call('encryptionKey', body)).toEqual({ kind: 'answered', value: { key: null } });
  expect(others.methods).toEqual([]);
  const encrypting = codeWorldOf(devKit.env.worker, logger, others, true);
  expect(parsed(await encrypting.call(scope, 'encryptionKey', body))).toEqual({ kind: 'answered', value: 'elsewhere' });
  expect(others.methods).toEqual(['encryptionKey']);
  const alone = codeWorldOf(devKit.env.worker, logger, undefined, true);
  expect(await alone.call(scope, 'encryptionKey', body)).toMatchObject({ kind: 'refused', code: 'outside_of_run' });
});

test('the function of the World makes a call of an invocation, in its scope', async () => {
  const { devKit, run } = await started();
  const tools = toolsOf({ decider: devKit.world, inspect: inspectNode, logger });
  const event = { worldCall: { scope, method: 'runs.get', body: { runId: run.runId } } };
  expect([isWorldCall(event), isWorldCall({ httpMethod: 'GET', body: JSON.stringify(event) })]).toEqual([true, false]);
  expect(await handleWorldCall(tools, event)).toMatchObject({ kind: 'answered', value: { runId: run.runId } });
  const text = { worldCall: { ...event.worldCall, body: 'text' } };
  expect(await handleWorldCall(tools, text)).toMatchObject({ status: 400, message: 'the body of a call is an object' });
  const elsewhere = { worldCall: { ...event.worldCall, scope: { projectId: 'elsewhere', environment: 'test' } } };
  expect(await handleWorldCall(tools, elsewhere)).toMatchObject({ kind: 'refused', code: 'run_not_found' });
  await expect(handleWorldCall(tools, { worldCall: { scope: { projectId: '#' } } })).rejects.toThrow();
});

const invoked = (output: object) => {
  const sent: unknown[] = [];
  const send = async ({ input }: { readonly input: { readonly Payload: Uint8Array } }): Promise<object> => {
    sent.push(JSON.parse(Buffer.from(input.Payload).toString()));
    return output;
  };
  const client: Pick<LambdaClient, 'send'> = Object.assign(Object.create(null), { send });
  return { sent, world: new WorldFunction(client, 'world') };
};

test('an invocation carries the call and brings its answer', async () => {
  const { sent, world } = invoked({
    Payload: Buffer.from('{"kind":"refused","status":425,"code":"too_early","message":"m","retryAfter":2}'),
  });
  expect(await world.call(scope, 'events.create', { runId: null })).toEqual({
    kind: 'refused',
    status: 425,
    code: 'too_early',
    message: 'm',
    retryAfter: 2,
  });
  expect(sent).toEqual([{ worldCall: { scope: { ...scope }, method: 'events.create', body: { runId: null } } }]);
});

test.each([
  ['a function error', { FunctionError: 'Unhandled', Payload: Buffer.from('{"errorType":"Error"}') }],
  ['another answer', { Payload: Buffer.from('{"statusCode":200}') }],
])('%s is temporary: the SDK repeats its message', async (_what, output) => {
  await expect(invoked(output).world.call(scope, 'runs.get', {})).rejects.toThrow(Unavailable);
});
