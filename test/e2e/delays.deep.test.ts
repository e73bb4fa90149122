/** Short and long sleeps: by the delay queue and by the Scheduler, across restarts, and with a cancellation. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { openScheduleStore } from '../../lib/local/scheduler/schedule-store.ts';
import { chain } from './bad-workflows.ts';
import { preparedFolder, startLocal, type LocalStart } from './local-start.ts';

const directory = preparedFolder();
let local: LocalStart;
beforeAll(async () => {
  local = await startLocal(directory);
  for (const [name, config] of [
    ['two-seconds', { delaySeconds: 2 }],
    ['five-seconds', { delaySeconds: 5 }],
    ['twenty-minutes', { delayMinutes: 20 }],
  ] as const) {
    expect((await local.call('POST', '/v1/workflows', chain(name, [{ id: 'nap', type: 'delay', config }]))).status).toBe(201);
  }
});
afterAll(async () => {
  expect(await local.end('SIGTERM')).toBe(0);
});

const runShape = z.looseObject({
  status: z.string(),
  nodes: z.array(
    z.looseObject({
      nodeId: z.string(),
      status: z.string(),
      startedAt: z.string().optional(),
      completedAt: z.string().optional(),
      wakeAt: z.string().optional(),
    }),
  ),
});
const eventsShape = z.looseObject({ data: z.array(z.looseObject({ type: z.string() })) });

const begin = async (workflowName: string, key = workflowName): Promise<string> => {
  const { body } = await local.call('POST', '/v1/runs', { workflowName }, { 'idempotency-key': key });
  return z.object({ runId: z.string() }).parse(body).runId;
};
const see = async (runId: string) => runShape.parse((await local.call('GET', `/v1/runs/${runId}`)).body);
const napOf = async (runId: string) => (await see(runId)).nodes.find(({ nodeId }) => nodeId === 'nap');
const eventsOf = async (runId: string) =>
  eventsShape.parse((await local.call('GET', `/v1/runs/${runId}/events`)).body).data.map(({ type }) => type);
const completes = (runId: string) =>
  expect.poll(async () => (await see(runId)).status, { timeout: 60_000, interval: 100 }).toBe('completed');

/** The one-time schedules in the embedded Scheduler; the sweep's recurring one is omitted. */
const alarms = () => {
  const store = openScheduleStore(join(directory, 'state', 'schedules.sqlite'));
  const all = store.list(undefined, '').map(({ definition }) => definition);
  store.close();
  return all.filter(({ ScheduleExpression }) => ScheduleExpression.startsWith('at('));
};
const secondOf = (moment: string | undefined): string =>
  new Date(Math.ceil(Date.parse(moment ?? '') / 1_000) * 1_000).toISOString().slice(0, 19);

test('two seconds use the delay queue, and no schedule', async () => {
  const runId = await begin('two-seconds');
  await completes(runId);
  const nap = await napOf(runId);
  expect(Date.parse(nap?.completedAt ?? '') - Date.parse(nap?.startedAt ?? '')).toBeGreaterThanOrEqual(2_000);
  expect(await eventsOf(runId)).toEqual(expect.arrayContaining(['node.waiting', 'node.completed', 'run.completed']));
  expect(alarms()).toEqual([]);
});

describe('twenty minutes', () => {
  let runId: string;
  let five: string;

  test('use a schedule that sends one job to the delay queue at that time and deletes itself', async () => {
    runId = await begin('twenty-minutes');
    const nap = await napOf(runId);
    expect(nap).toMatchObject({ status: 'waiting', wakeAt: expect.any(String) });
    expect(await eventsOf(runId)).toContain('node.waiting');
    await expect.poll(alarms, { timeout: 20_000 }).toHaveLength(1);
    const [alarm] = alarms();
    expect(alarm).toMatchObject({
      ScheduleExpression: `at(${secondOf(nap?.wakeAt)})`,
      ActionAfterCompletion: 'DELETE',
      Target: { Arn: expect.stringMatching(/DelayQueue/) },
    });
    expect(JSON.parse(alarm?.Target.Input ?? '')).toMatchObject({ job: { kind: 'wake', nodeId: 'nap' } });
  });

  test('survive a kill: run, node and schedule are unchanged, and a shorter sleep continues', async () => {
    five = await begin('five-seconds');
    const [before, alarmsBefore] = [await see(runId), alarms()];
    await local.end('SIGKILL');
    local = await startLocal(directory);
    expect([await see(runId), alarms()]).toEqual([before, alarmsBefore]);
    await completes(five);
    expect((await eventsOf(five)).filter((type) => type === 'node.completed')).toHaveLength(3);
  });

  test('are ended by a cancellation, which ends the run and its nodes', async () => {
    const { status, body } = await local.call('POST', `/v1/runs/${runId}/cancel`, { reason: 'no longer wanted' });
    expect([status, body]).toEqual([200, { runId, status: 'cancelled' }]);
    expect(await see(runId)).toMatchObject({ status: 'cancelled', cancelReason: 'no longer wanted' });
    expect((await see(runId)).nodes.map((node) => node.status)).toEqual(['completed', 'cancelled', 'cancelled']);
    expect((await local.call('POST', `/v1/runs/${runId}/cancel`)).status).toBe(200);
  });
});
