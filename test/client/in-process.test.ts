/** The client against the real HTTP functions. */
import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { priceOrder } from '../../examples/typed-client.ts';
import { IdempotencyComputeClientError, UnauthorizedComputeClientError } from '../../lib/client/index.ts';
import { instantGraph, openGraph } from '../functions/http.ts';
import { inProcess } from './in-process.ts';

const graph = openGraph;
const settled = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

test('publishing, starting and reading a result work with every method', async () => {
  const { api, clientOf, play } = inProcess();
  const client = clientOf(await api.key(['admin'], { rateLimitPerMinute: null }));
  expect(await play(client.health())).toMatchObject({ healthy: true });
  expect(await play(client.validateWorkflow({ nodes: [] }))).toMatchObject({ valid: false });
  expect(await play(client.createWorkflow({ name: 'flow', ...graph }))).toMatchObject({ name: 'flow', version: 1 });
  expect(await play(client.publishVersion('flow', graph))).toMatchObject({ version: 2 });
  expect(await play(client.getWorkflow('flow', { version: 1 }))).toMatchObject({ version: 1, latestVersion: 2 });

  const { runId } = await play(client.trigger({ workflowName: 'flow', input: { n: 1 } }));
  expect(await play(client.getRun(runId, { resolveData: 'none' }))).toMatchObject({ runId, status: 'pending' });
  const run = await play(client.result(runId));
  expect(run).toMatchObject({ status: 'completed', workflowVersion: 2, input: { n: 1 } });

  const types: string[] = [];
  const follow = async (): Promise<void> => {
    for await (const { type } of client.followRunEvents(runId, { limit: 2 })) types.push(type);
  };
  await play(follow());
  expect(types).toHaveLength(run.lastEventId);
  expect([types[0], types.at(-1)]).toEqual(['input.set', 'run.completed']);
  const { cursor } = await play(client.listRunEvents(runId));
  const rest = client.followRunEvents(runId, { after: cursor }).next();
  expect(await play(rest)).toMatchObject({ done: true });

  expect(await play(client.archiveWorkflow('flow'))).toMatchObject({ name: 'flow' });
  expect(await play(client.listWorkflows())).toMatchObject({ data: [] });
  expect(await play(client.listWorkflows({ archived: 'true' }))).toMatchObject({ data: [{ name: 'flow' }] });
});

test('eachRun yields each run of several pages once', async () => {
  const { api, clientOf, play } = inProcess();
  const client = clientOf(await api.key(['admin'], { rateLimitPerMinute: null }));
  await play(client.createWorkflow({ name: 'flow', ...instantGraph() }));
  const started: string[] = [];
  for (let n = 0; n < 5; n += 1) started.push((await play(client.trigger({ workflowName: 'flow', input: n }))).runId);
  const found: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { runId } of client.eachRun({ limit: 2, workflowName: 'flow' })) found.push(runId);
  };
  await play(read());
  expect(found.toSorted()).toEqual(started.toSorted());
});

test('failed and cancelled runs are results', async () => {
  const { api, clientOf, play } = inProcess();
  const client = clientOf(await api.key(['admin']));
  await play(client.createWorkflow({ name: 'fails', ...instantGraph('error') }));
  const failing = await play(client.trigger({ workflowName: 'fails' }));
  expect(await play(client.result(failing.runId))).toMatchObject({ status: 'failed', error: { code: expect.any(String) } });

  await play(client.createWorkflow({ name: 'waits', ...graph }));
  const waiting = await play(client.trigger({ workflowName: 'waits' }));
  await play(client.cancelRun(waiting.runId, { reason: 'no longer needed' }));
  expect(await play(client.result(waiting.runId))).toMatchObject({ status: 'cancelled', cancelReason: 'no longer needed' });
  expect(await play(settled(client.cancelRun(failing.runId)))).toMatchObject({ status: 409, code: 'run_terminal' });
});

test('equal content starts one run; a reused key with another body and an unknown API key are refused', async () => {
  const { api, clientOf, play } = inProcess();
  const key = await api.key(['admin']);
  const client = clientOf(key);
  await play(client.createWorkflow({ name: 'flow', ...instantGraph() }));
  const idempotencyKey = client.contentKey('flow', { a: 1, b: 2 });
  const first = await play(client.trigger({ workflowName: 'flow', input: { a: 1, b: 2 } }, { idempotencyKey }));
  expect(await play(client.trigger({ workflowName: 'flow', input: { b: 2, a: 1 } }, { idempotencyKey }))).toEqual(first);

  const conflict = await play(
    settled(client.trigger({ workflowName: 'flow', input: 3 }, { idempotencyKey, correlationId: 'mine' })),
  );
  expect(conflict).toBeInstanceOf(IdempotencyComputeClientError);
  expect(conflict).toMatchObject({ status: 409, code: 'idempotency_conflict', correlationId: 'mine' });

  const stranger = await play(settled(clientOf('sw_test_nobody').getRun(first.runId)));
  expect(stranger).toBeInstanceOf(UnauthorizedComputeClientError);
  expect(stranger).toMatchObject({ status: 401, code: 'unauthorized' });

  const reader = clientOf(await api.key(['runs:read']));
  expect(await play(settled(reader.archiveWorkflow('flow')))).toMatchObject({
    _tag: 'ScopeComputeClientError',
    required: 'workflows:write',
  });
});

test('a rate limited call waits for the next minute', async () => {
  const { api, clientOf, play } = inProcess();
  const client = clientOf(await api.key(['admin'], { rateLimitPerMinute: 1 }));
  await play(client.listRuns());
  const before = api.world.clock.now();
  await play(client.listRuns());
  expect(api.world.clock.now() - before).toBeGreaterThanOrEqual(60_000);
});

test('the example of docs/CLIENT.md works as documented, also when it is repeated', async () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const { api, clientOf, play } = inProcess();
  const client = clientOf(await api.key(['admin'], { rateLimitPerMinute: null }));
  for (let time = 0; time < 2; time += 1)
    expect(await play(priceOrder(client, [{ qty: 3, price: 50 }]))).toBe('due: {"due":135}');
  const lines = write.mock.calls.map(([line]) => String(line));
  write.mockRestore();
  expect((await play(client.listRuns())).data).toHaveLength(1);
  const page = readFileSync(new URL('../../docs/CLIENT.md', import.meta.url), 'utf8');
  expect(page).toContain(readFileSync(new URL('../../examples/typed-client.ts', import.meta.url), 'utf8'));
  expect(page).toContain(`${lines.slice(0, lines.length / 2).join('')}due: {"due":135}`);
});
