/** The next due times of a schedule, by the engine's own rule. */
import { defined } from '../../base/defined.ts';
import { type Recurrence, type Timing, nextFire } from '../../engine/schedule/timing.ts';
import { type TimingError, type TimingRequest, validateTiming } from '../../engine/schedule/validate-timing.ts';
import { type Instant, instant } from '../../engine/time.ts';
import type { Schedule } from '../api.ts';

const count = 10;

/** What the server stores about when a schedule is due. */
type StoredTiming = Pick<Schedule, 'cron' | 'rate' | 'timeZone' | 'startAt' | 'endAt' | 'nextRunAt'>;

/** @returns none for a paused rate: it counts from its next due time, which only the server knows */
export function upcomingOf(schedule: StoredTiming, now: number): readonly Instant[] {
  const recurrence = recurrenceOf(schedule);
  if (recurrence === undefined) return [];
  return upcoming({ recurrence, ...boundsOf(schedule) }, instant(now));
}

const boundsOf = ({ startAt, endAt }: StoredTiming): Pick<Timing, 'startAt' | 'endAt'> =>
  defined({
    startAt: startAt === undefined ? undefined : instant(Date.parse(startAt)),
    endAt: endAt === undefined ? undefined : instant(Date.parse(endAt)),
  });

function recurrenceOf({ cron, rate, timeZone = 'UTC', startAt, nextRunAt }: StoredTiming): Recurrence | undefined {
  if (cron !== undefined) return { kind: 'cron', cron, timeZone };
  const anchor = nextRunAt ?? startAt;
  return rate === undefined || anchor === undefined ? undefined : { kind: 'rate', rate, anchor: instant(Date.parse(anchor)) };
}

function upcoming(timing: Timing, now: Instant): readonly Instant[] {
  const found: Instant[] = [];
  for (let at = nextFire(timing, now); at !== undefined && found.length < count; at = nextFire(timing, at)) found.push(at);
  return found;
}

/** The due times of a timing that a person writes, or what is wrong with it. */
export function previewOf(
  request: TimingRequest,
  now: number,
): { readonly times: readonly Instant[]; readonly errors: readonly TimingError[] } {
  const checked = validateTiming(request, instant(now), instant(now));
  return checked.kind === 'refused'
    ? { times: [], errors: checked.errors }
    : { times: upcoming(checked.timing, instant(now)), errors: [] };
}
