/** Validates a requested timing; reports all errors, each with a JSON pointer. */
import { defined } from '../../base/defined.ts';
import { type Instant, instant } from '../time.ts';
import { convertUnixCron, readCron } from './cron.ts';
import { type Recurrence, type Timing, nextFire, readRate } from './timing.ts';
import { isTimeZone } from './zone.ts';

export interface TimingRequest {
  readonly cron?: string;
  readonly rate?: string;
  readonly timeZone?: string;
  readonly startAt?: Instant;
  readonly endAt?: Instant;
}

export interface TimingError {
  /** a JSON pointer into the body */
  readonly pointer: string;
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

export type TimingValidation =
  | { readonly kind: 'accepted'; readonly timing: Timing }
  | { readonly kind: 'refused'; readonly errors: readonly TimingError[] };

/**
 * A cron expression of five fields is accepted as the six fields that mean the same.
 * @param anchor start of a rate without a start of its own
 */
export function validateTiming(asked: TimingRequest, anchor: Instant, now: Instant): TimingValidation {
  const converted = asked.cron === undefined ? undefined : convertUnixCron(asked.cron);
  const request = converted?.kind === 'converted' ? { ...asked, cron: converted.cron } : asked;
  const errors = timingErrors(request);
  const recurrence = recurrenceOf(request, anchor);
  if (errors.length > 0 || recurrence === undefined) return { kind: 'refused', errors };
  const { startAt, endAt } = request;
  const timing = defined({
    recurrence,
    startAt,
    endAt,
  });
  if (nextFire(timing, now) !== undefined) return { kind: 'accepted', timing };
  const pointer = endAt === undefined ? '/cron' : '/endAt';
  return { kind: 'refused', errors: [{ pointer, code: 'never_fires', message: 'never fires in the future' }] };
}

function cronErrors(text: string): readonly TimingError[] {
  const converted = convertUnixCron(text);
  const read = converted.kind === 'refused' ? converted : readCron(converted.cron);
  if (read.kind === 'read') return [];
  return read.errors.map((message) => ({ pointer: '/cron', code: 'cron_invalid', message }));
}

function timingErrors({ cron, rate, timeZone, startAt, endAt }: TimingRequest): readonly TimingError[] {
  const errors: TimingError[] = [];
  if (cron === undefined && rate === undefined) {
    errors.push({ pointer: '', code: 'timing_missing', message: 'one of cron and rate is required' });
  }
  if (cron !== undefined && rate !== undefined) {
    errors.push({ pointer: '/rate', code: 'timing_twice', message: 'must not be given together with cron' });
  }
  if (cron !== undefined) errors.push(...cronErrors(cron));
  if (rate !== undefined && readRate(rate) === undefined) {
    const message = 'must be a whole number and minutes, hours or days, at most 365 days, such as 5 minutes';
    errors.push({ pointer: '/rate', code: 'rate_invalid', message });
  }
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    const message = 'must be a name of the IANA time zone database, such as Europe/Berlin';
    errors.push({ pointer: '/timeZone', code: 'time_zone_unknown', message });
  }
  if (timeZone !== undefined && cron === undefined && rate !== undefined) {
    errors.push({ pointer: '/timeZone', code: 'time_zone_unused', message: 'has no effect on a rate; use it with cron' });
  }
  if (startAt !== undefined && endAt !== undefined && endAt <= startAt) {
    errors.push({ pointer: '/endAt', code: 'ends_before_start', message: 'must be after startAt' });
  }
  return errors;
}

function recurrenceOf({ cron, rate, timeZone = 'UTC', startAt }: TimingRequest, anchor: Instant): Recurrence | undefined {
  if (cron !== undefined) return { kind: 'cron', cron, timeZone };
  return rate === undefined ? undefined : { kind: 'rate', rate, anchor: startAt ?? wholeMinute(anchor) };
}

const wholeMinute = (at: Instant): Instant => instant(Math.floor(at / 60_000) * 60_000);

/** The timing as its author requested it. */
export const timingRequestOf = ({ recurrence, startAt, endAt }: Timing): TimingRequest =>
  defined({
    ...(recurrence.kind === 'cron' ? { cron: recurrence.cron, timeZone: recurrence.timeZone } : { rate: recurrence.rate }),
    startAt,
    endAt,
  });
