/** When a schedule fires: by a cron expression or at a rate, from and until when. */
import { invariant } from '../invariant.ts';
import { type DurationMs, type Instant, days, durationMs, hours, instant, minutes } from '../time.ts';
import { nextCronTime, readCron } from './cron.ts';

export type Recurrence =
  | { readonly kind: 'cron'; readonly cron: string; readonly timeZone: string }
  /** at `anchor`, and at each whole length after it */
  | { readonly kind: 'rate'; readonly rate: string; readonly anchor: Instant };

export interface Timing {
  readonly recurrence: Recurrence;
  /** nothing before it */
  readonly startAt?: Instant;
  /** nothing at it or after it */
  readonly endAt?: Instant;
}

const units = { minute: minutes, hour: hours, day: days } as const;
/** Longer is a year, which a cron expression says better. */
export const maxRate = days(365);

/** `5 minutes`, `1 hour`, `7 days`: how long that is; undefined where the text is no rate, or a longer one. */
export function readRate(text: string): DurationMs | undefined {
  const [, count, unit] = /^([1-9]\d{0,5}) (minute|hour|day)s?$/.exec(text.trim()) ?? [];
  if (count === undefined || (unit !== 'minute' && unit !== 'hour' && unit !== 'day')) return undefined;
  const interval = units[unit](Number(count));
  return interval <= maxRate ? interval : undefined;
}

/** The first fire after `after`; undefined where there is none any more. */
export function nextFire({ recurrence, startAt, endAt }: Timing, after: Instant): Instant | undefined {
  const from = startAt === undefined || after >= startAt ? after : instant(startAt - 1);
  const next = recurrence.kind === 'cron' ? nextOfCron(recurrence, from) : nextOfRate(recurrence, from);
  return next === undefined || (endAt !== undefined && next >= endAt) ? undefined : next;
}

function nextOfCron({ cron, timeZone }: Extract<Recurrence, { kind: 'cron' }>, after: Instant): Instant | undefined {
  const read = readCron(cron);
  invariant(read.kind === 'read', `a schedule has a cron expression that is none: ${cron}`);
  return nextCronTime(read.cron, timeZone, after);
}

function nextOfRate({ rate, anchor }: Extract<Recurrence, { kind: 'rate' }>, after: Instant): Instant {
  const interval = readRate(rate) ?? durationMs(0);
  invariant(interval > 0, `a schedule has a rate that is none: ${rate}`);
  return instant(anchor + interval * Math.max(0, Math.floor((after - anchor) / interval) + 1));
}
