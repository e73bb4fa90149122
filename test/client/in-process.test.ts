/** The client against the real HTTP functions. */
import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { priceOrder } from '../../examples/typed-client.ts';
import { IdempotencyComputeClientError, UnauthorizedComputeClientError } from '../../lib/client/index.ts';
import { instantGraph, openGraph } from '../functions/http.ts';
import { createInProcessApi } from './in-process.ts';

const graph = openGraph;
const settled = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

test('publishing, starting and reading a result work with every method', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const client = clientOf(await api.key(['admin'], { rateLimitPerMinute: null }));
  expect(await runToEnd(client.health())).toMatchObject({ healthy: true });
  expect(await runToEnd(client.validateWorkflow({ nodes: [] }))).toMatchObject({ valid: false });
  expect(await runToEnd(client.createWorkflow({ name: 'flow', ...graph }))).toMatchObject({ name: 'flow', version: 1 });
  expect(await runToEnd(client.publishVersion('flow', graph))).toMatchObject({ version: 2 });
  expect(await runToEnd(client.getWorkflow('flow', { version: 1 }))).toMatchObject({ version: 1, latestVersion: 2 });

  const { runId } = await runToEnd(client.trigger({ workflowName: 'flow', input: { n: 1 } }));
  expect(await runToEnd(client.getRun(runId, { resolveData: 'none' }))).toMatchObject({ runId, status: 'pending' });
  const run = await runToEnd(client.result(runId));
  expect(run).toMatchObject({ status: 'completed', workflowVersion: 2, input: { n: 1 } });

  const types: string[] = [];
  const follow = async (): Promise<void> => {
    for await (const { type } of client.followRunEvents(runId, { limit: 2 })) types.push(type);
  };
  await runToEnd(follow());
  expect(types).toHaveLength(run.lastEventId);
  expect([types[0], types.at(-1)]).toEqual(['input.set', 'run.completed']);
  const { cursor } = await runToEnd(client.listRunEvents(runId));
  const otherRuns = client.followRunEvents(runId, { after: cursor }).next();
  expect(await runToEnd(otherRuns)).toMatchObject({ done: true });

  expect(await runToEnd(client.archiveWorkflow('flow'))).toMatchObject({ name: 'flow' });
  expect(await runToEnd(client.listWorkflows())).toMatchObject({ data: [] });
  expect(await runToEnd(client.listWorkflows({ archived: 'true' }))).toMatchObject({ data: [{ name: 'flow' }] });
});

test('eachRun yields each run of several pages once', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const client = clientOf(await api.key(['admin'], { rateLimitPerMinute: null }));
  await runToEnd(client.createWorkflow({ name: 'flow', ...instantGraph() }));
  const started: string[] = [];
  for (let n = 0; n < 5; n += 1) started.push((await runToEnd(client.trigger({ workflowName: 'flow', input: n }))).runId);
  const found: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { runId } of client.eachRun({ limit: 2, workflowName: 'flow' })) found.push(runId);
  };
  await runToEnd(read());
  expect(found.toSorted()).toEqual(started.toSorted());
});

test('failed and cancelled runs are results', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const client = clientOf(await api.key(['admin']));
  await runToEnd(client.createWorkflow({ name: 'fails', ...instantGraph('error') }));
  const failing = await runToEnd(client.trigger({ workflowName: 'fails' }));
  expect(await runToEnd(client.result(failing.runId))).toMatchObject({ status: 'failed', error: { code: expect.any(String) } });

  await runToEnd(client.createWorkflow({ name: 'waits', ...graph }));
  const waiting = await runToEnd(client.trigger({ workflowName: 'waits' }));
  await runToEnd(client.cancelRun(waiting.runId, { reason: 'no longer needed' }));
  expect(await runToEnd(client.result(waiting.runId))).toMatchObject({ status: 'cancelled', cancelReason: 'no longer needed' });
  expect(await runToEnd(settled(client.cancelRun(failing.runId)))).toMatchObject({ status: 409, code: 'run_terminal' });
});

test('equal content starts one run; a reused key with another body and an unknown API key are refused', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const key = await api.key(['admin']);
  const client = clientOf(key);
  await runToEnd(client.createWorkflow({ name: 'flow', ...instantGraph() }));
  const idempotencyKey = client.contentKey('flow', { a: 1, b: 2 });
  const first = await runToEnd(client.trigger({ workflowName: 'flow', input: { a: 1, b: 2 } }, { idempotencyKey }));
  expect(await runToEnd(client.trigger({ workflowName: 'flow', input: { b: 2, a: 1 } }, { idempotencyKey }))).toEqual(first);

  const conflict = await runToEnd(
    settled(client.trigger({ workflowName: 'flow', input: 3 }, { idempotencyKey, correlationId: 'mine' })),
  );
  expect(conflict).toBeInstanceOf(IdempotencyComputeClientError);
  expect(conflict).toMatchObject({ status: 409, code: 'idempotency_conflict', correlationId: 'mine' });

  const unknownKeyClient = await runToEnd(settled(clientOf('sw_test_nobody').getRun(first.runId)));
  expect(unknownKeyClient).toBeInstanceOf(UnauthorizedComputeClientError);
  expect(unknownKeyClient).toMatchObject({ status: 401, code: 'unauthorized' });

  const reader = clientOf(await api.key(['runs:read']));
  expect(await runToEnd(settled(reader.archiveWorkflow('flow')))).toMatchObject({
    _tag: 'ScopeComputeClientError',
    required: 'workflows:write',
  });
});

test('a rate limited call waits for the next minute', async () => {
  const { api, clientOf, runToEnd } = createInProcessApi();
  const client = clientOf(await api.key(['admin'], { rateLimitPerMinute: 1 }));
  await runToEnd(client.listRuns());
  const before = api.world.clock.now();
  await runToEnd(client.listRuns());
  expect(api.world.clock.now() - before).toBeGreaterThanOrEqual(60_000);
});

test('the example of docs/CLIENT.md works as documented, also when it is repeated', async () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const { api, clientOf, runToEnd } = createInProcessApi();
  const client = clientOf(await api.key(['admin'], { rateLimitPerMinute: null }));
  for (let time = 0; time < 2; time += 1)
    expect(await runToEnd(priceOrder(client, [{ qty: 3, price: 50 }]))).toBe('due: {"due":135}');
  const lines = write.mock.calls.map(([line]) => String(line));
  write.mockRestore();
  expect((await runToEnd(client.listRuns())).data).toHaveLength(1);
  const page = readFileSync(new URL('../../docs/CLIENT.md', import.meta.url), 'utf8');
  expect(page).toContain(readFileSync(new URL('../../examples/typed-client.ts', import.meta.url), 'utf8'));
  expect(page).toContain(`${lines.slice(0, lines.length / 2).join('')}due: {"due":135}`);
});
