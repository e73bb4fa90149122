/** Schedules in the embedded cloud: through the Scheduler and the delay queue to runs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { chain } from './bad-workflows.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

let cloud: InProcessCloud;
beforeAll(async () => {
  cloud = await startInProcessCloud();
  expect((await cloud.call('POST', '/v1/workflows', chain('flow', []))).status).toBe(201);
});
afterAll(() => cloud.stop());

const schedule = z.looseObject({
  paused: z.boolean(),
  nextRunAt: z.string().optional(),
  lastRun: z.looseObject({ runId: z.string(), scheduledAt: z.string(), status: z.string().optional() }).optional(),
  recentFires: z.array(z.looseObject({ outcome: z.string() })),
});
const see = async (id: string) => schedule.parse((await cloud.call('GET', `/v1/schedules/${id}`)).body);
/** Late enough that a busy machine creates the schedule before. */
const soon = (): string => new Date(Date.now() + 4_000).toISOString();

test('a schedule starts a run at its time, and returns its next time', async () => {
  const startAt = soon();
  const made = await cloud.call('POST', '/v1/schedules', {
    scheduleId: 'ticks',
    workflowName: 'flow',
    rate: '1 hour',
    startAt,
    input: { n: 1 },
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  expect(schedule.parse(made.body).nextRunAt).toBe(startAt);
  await expect.poll(async () => (await see('ticks')).lastRun?.status, { timeout: 60_000, interval: 200 }).toBe('completed');
  const { lastRun, nextRunAt, recentFires } = await see('ticks');
  expect(recentFires).toMatchObject([{ outcome: 'started' }]);
  const run = await cloud.call('GET', `/v1/runs/${lastRun?.runId}`);
  expect(run.body).toMatchObject({
    scheduleId: 'ticks',
    scheduledAt: lastRun?.scheduledAt,
    input: { n: 1 },
    status: 'completed',
  });
  expect(Date.parse(nextRunAt ?? '') - Date.parse(startAt)).toBe(3_600_000);
  expect((await cloud.call('DELETE', '/v1/schedules/ticks')).status).toBe(200);
});

test('a schedule that is paused, or whose workflow is archived, starts nothing', async () => {
  await cloud.call('POST', '/v1/workflows', chain('gone', []));
  for (const [scheduleId, workflowName] of [
    ['resting', 'flow'],
    ['orphan', 'gone'],
  ] as const) {
    await cloud.call('POST', '/v1/schedules', { scheduleId, workflowName, rate: '1 hour', startAt: soon() });
  }
  expect((await cloud.call('POST', '/v1/schedules/resting/pause')).body).toMatchObject({ paused: true });
  await cloud.call('DELETE', '/v1/workflows/gone');
  await expect.poll(async () => (await see('orphan')).recentFires[0]?.outcome, { timeout: 60_000, interval: 200 }).toBe('failed');
  expect(await see('orphan')).toMatchObject({ lastFailure: { outcome: 'failed', code: 'workflow_archived' } });
  expect(await see('resting')).toMatchObject({ paused: true, recentFires: [] });
});

test('a cron expression with lists, steps, names and a time zone is accepted', async () => {
  const cron = { cron: '0/15 8-18 ? * MON-FRI *', timeZone: 'America/New_York' };
  expect((await cloud.call('POST', '/v1/schedules', { scheduleId: 'office', workflowName: 'flow', ...cron })).status).toBe(201);
  expect(await see('office')).toMatchObject(cron);
  expect((await cloud.call('POST', '/v1/schedules/office', { cron: '0 0 L * ? *' })).body).toMatchObject({ cron: '0 0 L * ? *' });
});
