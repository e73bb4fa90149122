/** Requests to EventBridge Scheduler and EventBridge, with fake services. */
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { EventBridgeNotices } from '../../lib/aws/notices.ts';
import { SchedulerTimers } from '../../lib/aws/scheduler.ts';
import { busEvents } from '../../lib/codec/bus-events.ts';
import { parseJob } from '../../lib/codec/jobs.ts';
import { deploymentId, appName } from '../../lib/engine/ids.ts';
import { durationMs, after, instant, iso, minutes } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import type { RunStatusNotice } from '../../lib/ports/notices.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { testCredentials } from './emulators/dynamo.ts';
import { type Answer, type Recorded, type Recorder, startRecorder } from './emulators/recorder.ts';
import { noticesSuite } from './notices.suite.ts';
import { freshRun, noon } from './samples.ts';
import { timersSuite } from './timers.suite.ts';

const client = { region: 'eu-central-1', credentials: testCredentials, maxAttempts: 1 };
const settings = {
  group: 'stepwell-timers',
  queueArn: 'arn:aws:sqs:eu-central-1:123456789012:delays',
  roleArn: 'arn:aws:iam::123456789012:role/schedules',
};

const scheduleRequest = z.object({
  ScheduleExpression: z.string().regex(/^at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)$/),
  Target: z.object({ Input: z.string() }),
});

const fireTimeIn = ({ body }: Recorded): number => {
  const { ScheduleExpression } = scheduleRequest.parse(JSON.parse(body));
  return Date.parse(`${ScheduleExpression.slice('at('.length, -1)}Z`);
};

describe('EventBridge Scheduler', () => {
  /** The created schedules. A name that exists is refused, as by the service. */
  const schedules = new Map<string, Recorded>();
  const create = (request: Recorded): Answer => {
    if (request.method !== 'POST' || !/^\/schedules\/[0-9a-zA-Z_.-]{1,64}$/.test(request.path)) {
      return { status: 400, headers: { 'x-amzn-errortype': 'ValidationException' }, body: { Message: request.path } };
    }
    if (schedules.has(request.path)) {
      return { status: 409, headers: { 'x-amzn-errortype': 'ConflictException' }, body: { Message: 'it exists' } };
    }
    schedules.set(request.path, request);
    return { status: 200, body: { ScheduleArn: `arn:aws:scheduler:eu-central-1:123456789012:schedule${request.path}` } };
  };

  let recorder: Recorder;
  let timers: SchedulerTimers;
  beforeAll(async () => {
    recorder = await startRecorder(create);
    timers = new SchedulerTimers(
      new SchedulerClient({ ...client, endpoint: recorder.endpoint }),
      settings,
      new MemoryClock(noon),
    );
  });
  afterAll(() => recorder.close());

  timersSuite({
    name: 'EventBridge Scheduler',
    open: async () => ({
      port: {
        timers,
        pending: async () =>
          [...schedules.values()].map((request) => ({
            at: instant(fireTimeIn(request)),
            job: parseJob(scheduleRequest.parse(JSON.parse(request.body)).Target.Input),
          })),
      },
      close: async () => {},
    }),
  });

  const job = { kind: 'recheck', run: freshRun() } as const;
  const setAt = async (name: string, at: number): Promise<Recorded> => {
    await timers.set({ name, at: instant(at), job });
    const last = recorder.requests.at(-1);
    if (last === undefined) throw new Error('no request was sent');
    return last;
  };

  test('a one-time schedule in UTC has its second, the delay queue as target, and deletes itself', async () => {
    const request = await setAt('wire', after(noon, minutes(60)));
    const name = request.path.split('/').at(-1);
    expect(JSON.parse(request.body)).toEqual({
      ActionAfterCompletion: 'DELETE',
      ClientToken: name,
      FlexibleTimeWindow: { Mode: 'OFF' },
      GroupName: settings.group,
      ScheduleExpression: 'at(2026-05-01T13:00:01)',
      ScheduleExpressionTimezone: 'UTC',
      Target: { Arn: settings.queueArn, RoleArn: settings.roleArn, Input: expect.any(String) },
    });
  });

  test('a time in the past becomes the next minute, because a schedule in the past might never fire', async () => {
    expect(fireTimeIn(await setAt('past', noon - 3_600_000))).toBe(Math.ceil(after(noon, minutes(1)) / 1_000) * 1_000);
  });

  test('a fraction of a second is rounded up', async () => {
    const second = Math.floor(after(noon, minutes(20)) / 1_000) * 1_000;
    expect(fireTimeIn(await setAt('whole', second))).toBe(second);
    expect(fireTimeIn(await setAt('part', second + 1))).toBe(second + 1_000);
  });
});

describe('EventBridge', () => {
  const putEvents = z.object({
    Entries: z.array(
      z.object({ Detail: z.string(), DetailType: z.string(), Source: z.string(), EventBusName: z.string(), Time: z.number() }),
    ),
  });
  const entriesIn = ({ body }: Recorded) => putEvents.parse(JSON.parse(body)).Entries;
  const taken: Answer = { status: 200, body: { FailedEntryCount: 0, Entries: [{ EventId: 'e1' }] } };

  let recorder: Recorder;
  let answer: Answer = taken;
  let notices: EventBridgeNotices;
  beforeAll(async () => {
    recorder = await startRecorder(() => answer);
    const bus = new EventBridgeClient({ ...client, endpoint: recorder.endpoint });
    notices = new EventBridgeNotices(bus, 'stepwell-bus', 'failed');
  });
  afterAll(() => recorder.close());

  noticesSuite({
    name: 'EventBridge',
    open: async () => ({
      port: {
        notices,
        received: async () =>
          recorder.requests.flatMap(entriesIn).map(({ Detail }) => z.looseObject({}).parse(JSON.parse(Detail))),
      },
      close: async () => {},
    }),
  });

  const notice = { run: freshRun(), workflow: { name: 'order', version: 1 }, status: 'completed', startedAt: noon } as const;

  test('an event has its bus, source, type and time', async () => {
    await notices.runStatusChanged({ ...notice, endedAt: after(noon, durationMs(877)) });
    const last = recorder.requests.at(-1);
    expect(last?.headers['x-amz-target']).toBe('AWSEvents.PutEvents');
    expect(last && entriesIn(last)).toEqual([
      expect.objectContaining({
        EventBusName: 'stepwell-bus',
        Source: 'stepwell.runs',
        DetailType: 'Run Status Change',
        Time: Date.parse('2026-05-01T12:00:01.000Z') / 1_000,
      }),
    ]);
    expect(iso(after(noon, durationMs(877)))).toBe('2026-05-01T12:00:01.000Z');
  });

  test('the version of a graph is a number, and the version of code is a string', async () => {
    const workflowIn = async (workflow: RunStatusNotice['workflow']) => {
      await notices.runStatusChanged({ ...notice, workflow });
      const last = recorder.requests.at(-1);
      const { Detail = '' } = (last && entriesIn(last)[0]) ?? {};
      return z.looseObject({ workflow: z.unknown() }).parse(JSON.parse(Detail)).workflow;
    };
    expect(await workflowIn({ name: 'order', version: 3 })).toEqual({ name: 'order', version: 3 });
    expect(await workflowIn({ name: 'order', version: '2026-05' })).toEqual({ name: 'order', codeVersion: '2026-05' });
    expect(await workflowIn({ name: 'order' })).toEqual({ name: 'order' });
  });

  test('an activation has its source and type', async () => {
    const deployment = {
      scope: notice.run,
      app: appName('orders'),
      deploymentId: deploymentId('dep_1'),
      previousDeploymentId: null,
      revision: 1,
    };
    await notices.deploymentActivated({ ...deployment, activatedAt: noon });
    const last = recorder.requests.at(-1);
    expect(last && entriesIn(last)).toEqual([
      expect.objectContaining({ Source: 'stepwell.deployments', DetailType: 'Deployment Activated' }),
    ]);
  });

  test('every sent event matches its schema', () => {
    const sent = recorder.requests.flatMap(entriesIn);
    expect(new Set(sent.map(({ DetailType }) => DetailType)).size).toBe(busEvents.length);
    for (const { Source, DetailType, Detail } of sent) {
      const event = busEvents.find(({ source, detailType }) => source === Source && detailType === DetailType);
      expect(event?.detail.safeParse(JSON.parse(Detail)).error, Detail).toBeUndefined();
      expect(event, DetailType).toBeDefined();
    }
  });

  test('an event that the bus did not accept is Unavailable, although the response is 200', async () => {
    answer = { status: 200, body: { FailedEntryCount: 1, Entries: [{ ErrorCode: 'InternalFailure' }] } };
    await expect(notices.runStatusChanged(notice)).rejects.toThrow(Unavailable);
    answer = taken;
  });
});
