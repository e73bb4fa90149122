import { afterAll, expect, test } from 'vitest';
import * as z from 'zod';
import { preparedFolder, startLocal, type LocalStart } from './local-start.ts';
import { pauseAndJoin } from './workflows.ts';

const runs = 50;
const startedShape = z.object({ runId: z.string() });
const runShape = z.looseObject({ status: z.string(), output: z.unknown().optional(), completedAt: z.string().optional() });
type Run = z.infer<typeof runShape>;
const eventsShape = z.looseObject({
  data: z.array(
    z.looseObject({ eventId: z.number(), type: z.string(), payload: z.looseObject({ nodeId: z.string().optional() }) }),
  ),
});

let local: LocalStart | undefined;
afterAll(() => local?.end('SIGTERM'));

test('fifty open runs survive a kill of everything: each completes, and no completed node runs twice', async () => {
  const directory = preparedFolder();
  local = await startLocal(directory);
  const first = local;
  expect((await first.call('POST', '/v1/workflows', pauseAndJoin)).status).toBe(201);
  const start = (n: number) =>
    first.call('POST', '/v1/runs', { workflowName: pauseAndJoin.name, input: { n } }, { 'idempotency-key': `run-${n}` });
  // concurrently: each run's pause is longer than this, so the runs are open at the kill
  const answers = await Promise.all(Array.from({ length: runs }, (_one, n) => start(n)));
  const acknowledged = new Map(
    answers.map((answer, n) => {
      expect(answer.status).toBe(202);
      return [n, startedShape.parse(answer.body).runId];
    }),
  );
  const see = async (runId: string) => runShape.parse((await local?.call('GET', `/v1/runs/${runId}`))?.body);
  const statuses = async () => Promise.all([...acknowledged.values()].map(async (runId) => (await see(runId)).status));
  await first.end('SIGKILL');
  const killedAt = Date.now();

  local = await startLocal(directory);
  expect(local.apiKey).toBe(first.apiKey);
  const open = async () => (await statuses()).filter((status) => status !== 'completed').length;
  await expect.poll(open, { timeout: 240_000, interval: 1_000 }).toBe(0);

  let completedAfterKill = 0;
  for (const [n, runId] of acknowledged) {
    const run: Run = await see(runId);
    if (Date.parse(run.completedAt ?? '') > killedAt) completedAfterKill++;
    expect(run.output).toEqual({ sum: 2 * n + n * n });
    const { data } = eventsShape.parse((await local.call('GET', `/v1/runs/${runId}/events?limit=200`)).body);
    expect(data.map(({ eventId }) => eventId)).toEqual(data.map((_event, at) => at + 1));
    const completions = data.filter(({ type }) => type === 'node.completed').map(({ payload }) => payload.nodeId);
    expect(completions).toHaveLength(pauseAndJoin.nodes.length);
    expect(new Set(completions)).toEqual(new Set(pauseAndJoin.nodes.map(({ id }) => id)));
    expect(data.filter(({ type }) => type === 'run.completed')).toHaveLength(1);
  }
  // otherwise the test had no effect
  expect(completedAfterKill).toBeGreaterThan(0);
});
