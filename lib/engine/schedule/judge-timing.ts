/** Whether what somebody asks for is a timing: everything that is wrong with it at once, each with its place. */
import { type Instant, instant } from '../time.ts';
import { readCron } from './cron.ts';
import { type Recurrence, type Timing, nextFire, readRate } from './timing.ts';
import { isTimeZone } from './zone.ts';

export interface TimingAsked {
  readonly cron?: string;
  readonly rate?: string;
  readonly timeZone?: string;
  readonly startAt?: Instant;
  readonly endAt?: Instant;
}

export interface TimingFault {
  /** a JSON pointer into the body */
  readonly place: string;
  readonly code:
    | 'timing_missing'
    | 'timing_twice'
    | 'cron_invalid'
    | 'rate_invalid'
    | 'time_zone_unknown'
    | 'time_zone_unused'
    | 'ends_before_start'
    | 'never_fires';
  readonly message: string;
}

export type TimingVerdict =
  | { readonly kind: 'accepted'; readonly timing: Timing }
  | { readonly kind: 'refused'; readonly faults: readonly TimingFault[] };

/** @param anchor from when a rate counts that has no start of its own */
export function judgeTiming(asked: TimingAsked, anchor: Instant, now: Instant): TimingVerdict {
  const faults = faultsIn(asked);
  const recurrence = recurrenceOf(asked, anchor);
  if (faults.length > 0 || recurrence === undefined) return { kind: 'refused', faults };
  const { startAt, endAt } = asked;
  const timing = {
    recurrence,
    ...(startAt === undefined ? {} : { startAt }),
    ...(endAt === undefined ? {} : { endAt }),
  };
  if (nextFire(timing, now) !== undefined) return { kind: 'accepted', timing };
  const place = endAt === undefined ? '/cron' : '/endAt';
  return { kind: 'refused', faults: [{ place, code: 'never_fires', message: 'leaves no time in the future that is due' }] };
}

function faultsIn({ cron, rate, timeZone, startAt, endAt }: TimingAsked): readonly TimingFault[] {
  const faults: TimingFault[] = [];
  if (cron === undefined && rate === undefined) {
    faults.push({ place: '', code: 'timing_missing', message: 'cron or rate must say when' });
  }
  if (cron !== undefined && rate !== undefined) {
    faults.push({ place: '/rate', code: 'timing_twice', message: 'is one too many beside cron' });
  }
  if (cron !== undefined) {
    const read = readCron(cron);
    if (read.kind === 'refused') {
      faults.push(...read.faults.map((message) => ({ place: '/cron', code: 'cron_invalid' as const, message })));
    }
  }
  if (rate !== undefined && readRate(rate) === undefined) {
    const message = 'must be a whole number and minutes, hours or days, at most 365 days, such as 5 minutes';
    faults.push({ place: '/rate', code: 'rate_invalid', message });
  }
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    const message = 'must be a name of the IANA time zone database, such as Europe/Berlin';
    faults.push({ place: '/timeZone', code: 'time_zone_unknown', message });
  }
  if (timeZone !== undefined && cron === undefined && rate !== undefined) {
    faults.push({ place: '/timeZone', code: 'time_zone_unused', message: 'means nothing to a rate' });
  }
  if (startAt !== undefined && endAt !== undefined && endAt <= startAt) {
    faults.push({ place: '/endAt', code: 'ends_before_start', message: 'must be after startAt' });
  }
  return faults;
}

function recurrenceOf({ cron, rate, timeZone = 'UTC', startAt }: TimingAsked, anchor: Instant): Recurrence | undefined {
  if (cron !== undefined) return { kind: 'cron', cron, timeZone };
  return rate === undefined ? undefined : { kind: 'rate', rate, anchor: startAt ?? wholeMinute(anchor) };
}

const wholeMinute = (at: Instant): Instant => instant(Math.floor(at / 60_000) * 60_000);

/** The timing as its author wrote it. */
export const askedOf = ({ recurrence, startAt, endAt }: Timing): TimingAsked => ({
  ...(recurrence.kind === 'cron' ? { cron: recurrence.cron, timeZone: recurrence.timeZone } : { rate: recurrence.rate }),
  ...(startAt === undefined ? {} : { startAt }),
  ...(endAt === undefined ? {} : { endAt }),
});
