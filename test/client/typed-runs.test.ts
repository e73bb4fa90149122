/** `client.runs`: the types of a start and its result, and what is sent. */
import { expect, expectTypeOf, test } from 'vitest';
import { RunNotCompletedError, type StartOptions, type StepwellClient, type TypedEndedRun } from '../../lib/client/index.ts';
import { type StandardSchema, defineWorkflow, defineWorkflowSpec } from '../../lib/sdk/index.ts';
import { instantGraph, openGraph } from '../functions/http.ts';
import { createInProcessApi } from './in-process.ts';

interface Order {
  readonly orderId: string;
  readonly due: Date;
}
const processOrder = defineWorkflow({ name: 'order' }, async ({ input }: { readonly input: Order }) => ({
  paidAt: input.due,
  total: 3,
}));
const ping = defineWorkflow({ name: 'ping' }, () => 'pong' as const);
const schema: StandardSchema<string, number> = { '~standard': { version: 1, vendor: 'test', validate: () => ({ value: 1 }) } };
const parsed = defineWorkflow({ name: 'parsed', schema }, ({ input }) => input > 1);
const elsewhere = defineWorkflowSpec<{ readonly id: string }, readonly number[]>({ name: 'elsewhere' });
interface Known {
  readonly report: { readonly input: { readonly day: string }; readonly output: { readonly rows: number } };
  readonly sweep: { readonly input?: unknown; readonly output: unknown };
}

test('a start has the types of its workflow', () => {
  // Only compiled: nothing is sent.
  const compiled = async (client: StepwellClient<Known>) => {
    const order = await client.runs.start(processOrder, { input: { orderId: 'o1', due: new Date() } });
    // A date is stored as text.
    expectTypeOf(order.output()).resolves.toEqualTypeOf<{ paidAt: string; total: number }>();

    expectTypeOf((await client.runs.start(ping)).output()).resolves.toEqualTypeOf<'pong'>();
    expectTypeOf((await client.runs.start(parsed, { input: '2' })).output()).resolves.toEqualTypeOf<boolean>();
    const handle = await client.runs.start(elsewhere, { input: { id: 'x' }, idempotencyKey: 'k' });
    expectTypeOf(handle.result()).resolves.toEqualTypeOf<TypedEndedRun<readonly number[]>>();

    expectTypeOf((await client.runs.start('report', { input: { day: 'today' } })).output()).resolves.toEqualTypeOf<{
      readonly rows: number;
    }>();
    await client.runs.start('sweep');
  };
  expect(compiled).toBeInstanceOf(Function);
});

test('the input is required with its type where the workflow has one', () => {
  expectTypeOf<StartOptions<Order>['input']>().toEqualTypeOf<Order>();
  expectTypeOf<{ idempotencyKey: string }>().not.toExtend<StartOptions<Order>>();
  expectTypeOf<{ input: { due: Date } }>().not.toExtend<StartOptions<Order>>();
  expectTypeOf<{ idempotencyKey: string }>().toExtend<StartOptions<unknown>>();
  expectTypeOf<{ input: number }>().not.toExtend<StartOptions<string>>();
  expect.assertions(0);
});

test('start sends the workflow by its name and the input as JSON, and its handle waits for the end', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const client = clientOf(await api.key(['admin']));
  await runToEnd(client.createWorkflow({ name: 'order', ...instantGraph() }));
  const due = new Date(0);
  const start = () => client.runs.start(processOrder, { input: { orderId: 'o1', due }, idempotencyKey: 'o1' });
  const run = await runToEnd(start());
  expect((await runToEnd(start())).runId).toBe(run.runId);
  expect(await runToEnd(run.output())).toEqual({ given: { orderId: 'o1', due: '1970-01-01T00:00:00.000Z' } });
  expect(await runToEnd(run.result())).toMatchObject({ runId: run.runId, status: 'completed' });
  const untyped = await runToEnd(client.runs.start('order', { input: 7 }));
  expect(await runToEnd(untyped.output())).toEqual({ given: 7 });
});

test('startAndWait returns the end of a run that ends in time, and the handle of one that waits', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const client = clientOf(await api.key(['admin']));
  await runToEnd(client.createWorkflow({ name: 'order', ...instantGraph() }));
  const due = new Date(0);
  const ended = await runToEnd(client.runs.startAndWait(processOrder, { input: { orderId: 'o1', due }, waitSeconds: 5 }));
  expect(ended).toMatchObject({ hasEnded: true, status: 'completed', output: { given: { orderId: 'o1' } } });
  await runToEnd(client.createWorkflow({ name: 'fails', ...instantGraph('error') }));
  expect(await runToEnd(client.runs.startAndWait('fails'))).toMatchObject({ hasEnded: true, status: 'failed', error: {} });

  const nap = { id: 'nap', type: 'delay', config: { delaySeconds: 59 } };
  const graph = { nodes: [{ id: 'start', type: 'start' }, nap], edges: [{ source: 'start', target: 'nap' }] };
  await runToEnd(client.createWorkflow({ name: 'naps', ...graph }));
  const open = await runToEnd(client.runs.startAndWait('naps', { waitSeconds: 5 }));
  if (open.hasEnded) throw new Error(`the run is ${open.status}`);
  expect(await runToEnd(open.result())).toMatchObject({ status: 'completed' });
});

test('startAndWait refuses a wait that is no whole number, and the service one that is too long', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const client = clientOf(await api.key(['admin']));
  await expect(client.runs.startAndWait('order', { waitSeconds: 0.5 })).rejects.toThrow(RangeError);
  await expect(runToEnd(client.runs.startAndWait('order', { waitSeconds: 26 }))).rejects.toMatchObject({
    code: 'invalid_request',
  });
});

test('a failed or cancelled run has no output: the error names the run and the reason', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const client = clientOf(await api.key(['admin']));
  await runToEnd(client.createWorkflow({ name: 'fails', ...instantGraph('error') }));
  const failing = await runToEnd(client.runs.start('fails'));
  const error = await runToEnd(failing.output().catch((thrown: unknown) => thrown));
  expect(error).toBeInstanceOf(RunNotCompletedError);
  expect(String(error)).toMatch(new RegExp(`RunNotCompletedError: The run ${failing.runId} failed`));
  expect(await runToEnd(failing.result())).toMatchObject({ status: 'failed' });

  await runToEnd(client.createWorkflow({ name: 'open', ...openGraph }));
  const open = await runToEnd(client.runs.start('open'));
  await runToEnd(client.cancelRun(open.runId, { reason: 'no stock' }));
  expect(String(await runToEnd(open.output().catch((thrown: unknown) => thrown)))).toContain('was cancelled: no stock');
});

test('an output that the key may not see is an error, and not an output', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  await runToEnd(clientOf(await api.key(['admin'])).createWorkflow({ name: 'order', ...instantGraph() }));
  const blind = clientOf(await api.key(['trigger:write', 'runs:read']));
  const due = new Date(0);
  const run = await runToEnd(blind.runs.start(processOrder, { input: { orderId: 'o1', due }, idempotencyKey: 'o1' }));
  const hidden = { _tag: 'ScopeComputeClientError', required: 'payloads:read' };
  await expect(runToEnd(run.output())).rejects.toMatchObject(hidden);
  await expect(runToEnd(run.result())).rejects.toMatchObject(hidden);
  // The run itself says so.
  expect(await runToEnd(blind.result(run.runId))).toMatchObject({ status: 'completed', payloadsHidden: true });
});
