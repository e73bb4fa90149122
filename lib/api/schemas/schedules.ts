/** Schemas for schedules. */
import * as z from 'zod';
import { runStatuses } from '../../engine/log/head.ts';
import { overlapPolicies } from '../../engine/schedule/timing.ts';
import {
  cursor,
  json,
  limit,
  utcTimestamp,
  page,
  payloadsHidden,
  scheduleId,
  timestampInput,
  workflowName,
  pageSize,
} from './parts.ts';

/** EventBridge Scheduler can be a minute late, and the message waits in a queue. */
export const minCatchUpSeconds = 120;
/** EventBridge Scheduler retries a delivery for at most a day. */
export const maxCatchUpSeconds = 86_400;

const cron = z.string().min(1).max(256).meta({
  description:
    'six fields as in EventBridge Scheduler: minutes, hours, day of month, month, day of week, year; or five as in Unix cron, which are converted',
});
const rate = z.string().min(1).max(64).meta({ description: 'such as `5 minutes`, `1 hour` or `7 days`' });
const timeZone = z.string().min(1).max(64).meta({ description: 'an IANA time zone; absent: UTC' });
const overlap = z.enum(overlapPolicies).meta({ description: 'what happens at a due time while a run of the schedule is open' });
const catchUpSeconds = z
  .int()
  .min(minCatchUpSeconds)
  .max(maxCatchUpSeconds)
  .meta({ description: 'a due time that is processed later than this starts no run' });
const version = z.int().min(1).meta({ description: 'the version of the graph; absent: the latest version at each due time' });

export const createScheduleBody = z
  .strictObject({
    scheduleId,
    workflowName,
    version: version.exactOptional(),
    input: json.exactOptional(),
    cron: cron.exactOptional(),
    rate: rate.exactOptional(),
    timeZone: timeZone.exactOptional(),
    startAt: timestampInput.exactOptional(),
    endAt: timestampInput.exactOptional(),
    overlap: overlap.default('skip'),
    catchUpSeconds: catchUpSeconds.default(maxCatchUpSeconds),
    paused: z.boolean().default(false),
  })
  .meta({ id: 'CreateSchedule' });

export const updateScheduleBody = z
  .strictObject({
    workflowName: workflowName.exactOptional(),
    version: version.nullable().exactOptional(),
    input: json.exactOptional(),
    cron: cron.exactOptional(),
    rate: rate.exactOptional(),
    timeZone: timeZone.exactOptional(),
    startAt: timestampInput.nullable().exactOptional(),
    endAt: timestampInput.nullable().exactOptional(),
    overlap: overlap.exactOptional(),
    catchUpSeconds: catchUpSeconds.exactOptional(),
  })
  .meta({ id: 'UpdateSchedule' });

export const scheduleParams = z.strictObject({ scheduleId });
export const listSchedulesQuery = z.strictObject({ limit: limit.default(pageSize.standard), cursor: cursor.exactOptional() });

const fire = z
  .strictObject({
    scheduledAt: utcTimestamp,
    at: utcTimestamp.meta({ description: 'when the outcome was recorded' }),
    outcome: z.enum(['starting', 'started', 'skipped', 'missed', 'failed']),
    runId: z.string().exactOptional(),
    code: z.string().exactOptional(),
    message: z.string().exactOptional(),
  })
  .meta({ id: 'ScheduleFire' });

const lastRun = z
  .strictObject({
    runId: z.string(),
    scheduledAt: utcTimestamp,
    startedAt: utcTimestamp,
    status: z.enum(runStatuses).exactOptional().meta({ description: 'the status of the run; absent in lists of schedules' }),
  })
  .meta({ id: 'ScheduleLastRun' });

const scheduleSummaryFields = {
  scheduleId: z.string(),
  workflowName: z.string(),
  version: z.int().exactOptional(),
  cron: z.string().exactOptional(),
  rate: z.string().exactOptional(),
  timeZone: z.string().exactOptional(),
  startAt: utcTimestamp.exactOptional(),
  endAt: utcTimestamp.exactOptional(),
  overlap: z.enum(overlapPolicies),
  catchUpSeconds: z.int(),
  paused: z.boolean(),
  createdAt: utcTimestamp,
  updatedAt: utcTimestamp,
  nextRunAt: utcTimestamp.exactOptional().meta({ description: 'absent: paused or ended' }),
  lastRun: lastRun.exactOptional(),
  lastFailure: fire.exactOptional(),
};

export const scheduleResponse = z
  .strictObject({
    ...scheduleSummaryFields,
    input: json.exactOptional(),
    recentFires: z.array(fire).readonly().meta({ description: 'the most recent due times, newest first' }),
    ...payloadsHidden,
  })
  .meta({ id: 'Schedule' });
export const scheduleList = page(z.strictObject(scheduleSummaryFields).meta({ id: 'ScheduleSummary' }));
export const deletedScheduleResponse = z.strictObject({ scheduleId: z.string(), deleted: z.literal(true) });
