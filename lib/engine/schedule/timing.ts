/** The timing of a schedule: a cron expression or a rate, with an optional start and end. */
import { invariant } from '../invariant.ts';
import { type DurationMs, type Instant, days, durationMs, hours, instant, minutes } from '../time.ts';
import { nextCronTime, readCron } from './cron.ts';

export type Recurrence =
  | { readonly kind: 'cron'; readonly cron: string; readonly timeZone: string }
  /** fires at `anchor` and at each multiple of the rate after it */
  | { readonly kind: 'rate'; readonly rate: string; readonly anchor: Instant };

export interface Timing {
  readonly recurrence: Recurrence;
  /** no fire before this time */
  readonly startAt?: Instant;
  /** no fire at or after this time */
  readonly endAt?: Instant;
}

const units = { minute: minutes, hour: hours, day: days } as const;
/** A longer interval than a year is better written as a cron expression. */
export const maxRate = days(365);

/** The interval of `5 minutes`, `1 hour`, `7 days`; undefined if the text is not a rate, or too long. */
export function readRate(text: string): DurationMs | undefined {
  const [, count, unit] = /^([1-9]\d{0,5}) (minute|hour|day)s?$/.exec(text.trim()) ?? [];
  if (count === undefined || (unit !== 'minute' && unit !== 'hour' && unit !== 'day')) return undefined;
  const interval = units[unit](Number(count));
  return interval <= maxRate ? interval : undefined;
}

/** The first fire after `after`; undefined if there is none. */
export function nextFire({ recurrence, startAt, endAt }: Timing, after: Instant): Instant | undefined {
  const from = startAt === undefined || after >= startAt ? after : instant(startAt - 1);
  const next = recurrence.kind === 'cron' ? nextOfCron(recurrence, from) : nextOfRate(recurrence, from);
  return next === undefined || (endAt !== undefined && next >= endAt) ? undefined : next;
}

function nextOfCron({ cron, timeZone }: Extract<Recurrence, { kind: 'cron' }>, after: Instant): Instant | undefined {
  const read = readCron(cron);
  invariant(read.kind === 'read', `the cron expression of a stored schedule is invalid: ${cron}`);
  return nextCronTime(read.cron, timeZone, after);
}

function nextOfRate({ rate, anchor }: Extract<Recurrence, { kind: 'rate' }>, after: Instant): Instant {
  const interval = readRate(rate) ?? durationMs(0);
  invariant(interval > 0, `the rate of a stored schedule is invalid: ${rate}`);
  return instant(anchor + interval * Math.max(0, Math.floor((after - anchor) / interval) + 1));
}

/** What a schedule does when it fires while a run that it started is open. */
export const overlapPolicies = ['skip', 'allow', 'cancel_previous'] as const;
export type OverlapPolicy = (typeof overlapPolicies)[number];
