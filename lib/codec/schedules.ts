/** Schedules as they are stored, and fire messages as the delay queue carries them. */
import * as z from 'zod';
import type { JsonValue } from '../engine/json.ts';
import { type Timing, overlapPolicies } from '../engine/schedule/timing.ts';
import { instant as toInstant } from '../engine/time.ts';
import type { ScheduleFire, Fire, Schedule, ScheduleMark, ScheduleSetting, ScheduleDefinition } from '../ports/schedules.ts';
import { exactly } from './exact.ts';
import { durationMs, environment, instant, nonce, projectId, runId, scheduleId, workflowName } from './ids.ts';
import { readJson } from './unreadable.ts';

const recurrence = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('cron'), cron: z.string(), timeZone: z.string() }),
  z.strictObject({ kind: z.literal('rate'), rate: z.string(), anchor: instant }),
]);
const timing = exactly<Timing>()(
  z.strictObject({ recurrence, startAt: instant.exactOptional(), endAt: instant.exactOptional() }),
);

const definition = exactly<ScheduleDefinition>()(
  z.strictObject({
    workflowName,
    version: z.int().min(1).exactOptional(),
    latestVersionWhenSet: z.int().min(1).exactOptional(),
    input: z.custom<JsonValue>((value) => value !== undefined).exactOptional(),
    timing,
    overlap: z.enum(overlapPolicies),
    catchUpWindowMs: durationMs,
    isPaused: z.boolean(),
  }),
);

const storedFire = exactly<Fire>()(
  z.strictObject({
    scheduledAt: instant,
    at: instant,
    outcome: z.enum(['starting', 'started', 'skipped', 'missed', 'failed']),
    runId: runId.exactOptional(),
    code: z.string().exactOptional(),
    message: z.string().exactOptional(),
  }),
);

const setting = { projectId, environment, scheduleId, incarnation: nonce, setting: z.int().min(1) };
export const scheduleSetting = exactly<ScheduleSetting>()(z.strictObject(setting));
export const scheduleMark = exactly<ScheduleMark>()(z.strictObject({ ...setting, at: instant }));

export const storedSchedule = exactly<Schedule>()(
  z.strictObject({
    ...setting,
    bodyHash: z.string(),
    definition,
    createdAt: instant,
    updatedAt: instant,
    fires: z.array(storedFire).readonly(),
    lastFailure: storedFire.exactOptional(),
    revision: z.int().min(1),
  }),
);

const messageVersion = 1;
const rfc3339 = z.iso.datetime({ offset: true }).transform((text) => toInstant(Date.parse(text)));
const fireMessage = z.strictObject({ v: z.literal(messageVersion), fire: z.strictObject({ ...setting, scheduledAt: rfc3339 }) });

/** @param scheduledAt the due time, or the placeholder that the external scheduler replaces with it */
export const fireBody = (value: ScheduleSetting, scheduledAt: string): string => {
  const { projectId: project, environment: env, scheduleId: id, incarnation, setting: number } = value;
  const fire = { projectId: project, environment: env, scheduleId: id, incarnation, setting: number, scheduledAt };
  return JSON.stringify({ v: messageVersion, fire });
};

/** The fire in a message body; undefined for another kind of message. @throws Unreadable */
export const parseFire = (text: string): ScheduleFire | undefined =>
  text.startsWith(`{"v":${messageVersion},"fire":`) ? readJson('a fire of a schedule', fireMessage, text).fire : undefined;
