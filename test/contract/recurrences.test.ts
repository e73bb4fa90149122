/** Requests to EventBridge Scheduler for recurring schedules, with a fake service. */
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { SchedulerRecurrences } from '../../lib/aws/scheduler.ts';
import { parseFire } from '../../lib/codec/schedules.ts';
import type { Timing } from '../../lib/engine/schedule/timing.ts';
import { after, days, hours, minutes, seconds } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { testCredentials } from './emulators/dynamo.ts';
import { type Answer, type Recorded, type Recorder, startRecorder } from './emulators/recorder.ts';
import { recurrenceOf, recurrencesSuite } from './recurrences.suite.ts';
import { noon } from './samples.ts';

const client = { region: 'eu-central-1', credentials: testCredentials, maxAttempts: 1 };
const settings = {
  group: 'stepwell-timers',
  queueArn: 'arn:aws:sqs:eu-central-1:123456789012:delays',
  roleArn: 'arn:aws:iam::123456789012:role/schedules',
};
const scheduleRequest = z.object({ GroupName: z.string(), Target: z.object({ Input: z.string() }) });

const schedules = new Map<string, Recorded>();
const refused = (status: number, code: string): Answer => ({
  status,
  headers: { 'x-amzn-errortype': code },
  body: { Message: code },
});
const answer = (request: Recorded): Answer => {
  const [path = ''] = request.path.split('?');
  if (!/^\/schedules\/[0-9a-zA-Z_.-]{1,64}$/.test(path)) return refused(400, 'ValidationException');
  if (request.method === 'DELETE')
    return schedules.delete(path) ? { status: 200, body: {} } : refused(404, 'ResourceNotFoundException');
  if (schedules.has(path)) return refused(409, 'ConflictException');
  schedules.set(path, request);
  return { status: 200, body: { ScheduleArn: `arn:aws:scheduler:eu-central-1:123456789012:schedule${path}` } };
};
/** The message that the schedule sends. */
const firedBy = ({ body }: Recorded) => {
  const { Input } = scheduleRequest.parse(JSON.parse(body)).Target;
  const fire = parseFire(Input.replaceAll('<aws.scheduler.scheduled-time>', '2026-05-02T12:00:00Z'));
  if (fire === undefined) throw new Error(`no fire: ${Input}`);
  return fire;
};

let recorder: Recorder;
let recurrences: SchedulerRecurrences;
beforeAll(async () => {
  recorder = await startRecorder(answer);
  const scheduler = new SchedulerClient({ ...client, endpoint: recorder.endpoint });
  recurrences = new SchedulerRecurrences(scheduler, settings, new MemoryClock(noon));
});
afterAll(() => recorder.close());

recurrencesSuite({
  name: 'EventBridge Scheduler',
  open: async () => ({
    port: {
      recurrences,
      pending: async () =>
        [...schedules.values()].map((request) => {
          const { scheduledAt: _at, ...setting } = firedBy(request);
          return { setting };
        }),
    },
    close: async () => {},
  }),
});

const setAndRead = async (timing: Timing, maxDeliveryAge = hours(2)) => {
  const recurrence = { ...recurrenceOf(timing, after(noon, hours(1))), maxDeliveryAge };
  await recurrences.set(recurrence);
  const last = recorder.requests.at(-1);
  if (last === undefined) throw new Error('no request was sent');
  return { recurrence, last, body: z.record(z.string(), z.unknown()).parse(JSON.parse(last.body)) };
};

test('a cron schedule has its time zone, the delay queue as target and a placeholder for the due time', async () => {
  const endAt = after(noon, days(9));
  const { recurrence, last, body } = await setAndRead({
    recurrence: { kind: 'cron', cron: '0 3 ? * MON-FRI *', timeZone: 'Europe/Berlin' },
    endAt,
  });
  const name = last.path.split('/').at(-1);
  const { projectId, environment } = recurrence.setting;
  expect(body).toEqual({
    ActionAfterCompletion: 'DELETE',
    ClientToken: name,
    Description: `${projectId}/${environment}: schedule nightly`,
    EndDate: endAt / 1_000,
    FlexibleTimeWindow: { Mode: 'OFF' },
    GroupName: settings.group,
    ScheduleExpression: 'cron(0 3 ? * MON-FRI *)',
    ScheduleExpressionTimezone: 'Europe/Berlin',
    Target: {
      Arn: settings.queueArn,
      RoleArn: settings.roleArn,
      Input: expect.stringContaining('<aws.scheduler.scheduled-time>'),
      RetryPolicy: { MaximumEventAgeInSeconds: 7_200, MaximumRetryAttempts: 185 },
    },
  });
  expect(firedBy(last)).toEqual({ ...recurrence.setting, scheduledAt: Date.UTC(2026, 4, 2, 12) });
});

test.each([
  ['1 minutes', 'rate(1 minute)'],
  ['5 minute', 'rate(5 minutes)'],
  ['12 hours', 'rate(12 hours)'],
])('the rate %s becomes %s and starts at its first fire', async (rate, expression) => {
  const { body } = await setAndRead({ recurrence: { kind: 'rate', rate, anchor: noon } });
  expect(body).toMatchObject({
    ScheduleExpression: expression,
    ScheduleExpressionTimezone: 'UTC',
    StartDate: after(noon, hours(1)) / 1_000,
  });
});

test('a start date is sent only if it is in the future, because the service refuses a past one', async () => {
  const recurrence = { kind: 'cron', cron: '0 3 * * ? *', timeZone: 'UTC' } as const;
  const ahead = after(noon, days(1));
  expect((await setAndRead({ recurrence, startAt: ahead })).body['StartDate']).toBe(ahead / 1_000);
  expect((await setAndRead({ recurrence, startAt: noon })).body).not.toHaveProperty('StartDate');
});

test.each([
  [seconds(1), 60],
  [minutes(3), 180],
  [days(9), 86_400],
])('the maximum event age is within the service’s limits: %i ms', async (within, bounded) => {
  const { body } = await setAndRead({ recurrence: { kind: 'rate', rate: '1 hour', anchor: noon } }, within);
  expect(body).toMatchObject({ Target: { RetryPolicy: { MaximumEventAgeInSeconds: bounded } } });
});
