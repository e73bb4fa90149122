/** Computes when a schedule is due, from `at(…)`, `rate(…)` and `cron(…)` as EventBridge Scheduler writes them. */
import { Cron } from 'croner';

export interface Timing {
  readonly isOneTime: boolean;
  /** The first time at or after `created`, in epoch milliseconds; undefined where there is none. */
  first(created: number): number | undefined;
  /** The next time after a due time. */
  next(due: number, now: number): number | undefined;
}

/** The properties of a definition that contain its timing. */
interface ScheduleFields {
  readonly ScheduleExpression: string;
  readonly ScheduleExpressionTimezone: string;
  readonly StartDate?: number | undefined;
  readonly EndDate?: number | undefined;
}

const unitMs: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

function at(text: string, timezone: string): Timing | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(text)) return undefined;
  const isUtc = /^(UTC|Etc\/UTC|GMT)$/i.test(timezone);
  const moment = isUtc ? Date.parse(`${text}Z`) : new Cron(text, { timezone, paused: true }).nextRun(new Date(0))?.getTime();
  if (moment === undefined || Number.isNaN(moment)) return undefined;
  return { isOneTime: true, first: () => moment, next: () => undefined };
}

function rate(count: number, unit: string): Timing | undefined {
  const intervalMs = count * (unitMs[unit.replace(/s$/, '')] ?? 0);
  if (intervalMs <= 0) return undefined;
  return {
    isOneTime: false,
    first: (created) => created,
    // Times that were missed while the cloud was stopped are skipped.
    next: (due, now) => due + intervalMs * Math.max(1, Math.ceil((now - due) / intervalMs)),
  };
}

/** `5/15` of AWS is `5-59/15` of croner. */
const toCronerField = (field: string | undefined, max: number): string =>
  (field ?? '').replaceAll(/(^|,)(\w+)\//g, `$1$2-${max}/`);

/** AWS has minutes, hours, day of month, month, day of week (1 is Sunday) and year. */
function cron(text: string, timezone: string): Timing | undefined {
  const [minutes, hours, day, month, weekday, year, ...more] = text.trim().split(/\s+/);
  if (year === undefined || more.length > 0) return undefined;
  const fields = [
    toCronerField(minutes, 59),
    toCronerField(hours, 23),
    toCronerField(day, 31),
    toCronerField(month, 12),
    toCronerField(weekday, 7),
    toCronerField(year, 2199),
  ];
  const pattern = new Cron(`0 ${fields.join(' ')}`, {
    timezone,
    paused: true,
    alternativeWeekdays: true,
    // `?` in one of the two day fields means that only the other applies; croner would combine them with "or".
    domAndDow: true,
  });
  const after = (moment: number): number | undefined => pattern.nextRun(new Date(moment))?.getTime();
  return { isOneTime: false, first: (created) => after(created), next: (due, now) => after(Math.max(due, now)) };
}

/** Limits a timing to its start and end dates, in epoch seconds. */
function withinDates(timing: Timing, startDate: number | undefined, endDate: number | undefined): Timing {
  const start = startDate === undefined ? -Infinity : startDate * 1_000;
  const end = endDate === undefined ? Infinity : endDate * 1_000;
  const untilEnd = (at: number | undefined) => (at === undefined || at > end ? undefined : at);
  return {
    ...timing,
    first: (created) => untilEnd(timing.first(Math.max(created, start))),
    next: (due, now) => untilEnd(timing.next(due, now)),
  };
}

/** undefined where the expression or the time zone is invalid. */
export function parseExpression(expression: string, timezone = 'UTC'): Timing | undefined {
  const [, kind, inner] = /^(at|rate|cron)\((.*)\)$/.exec(expression.trim()) ?? [];
  if (kind === undefined || inner === undefined) return undefined;
  try {
    if (kind === 'at') return at(inner, timezone);
    if (kind === 'cron') return cron(inner, timezone);
    const [, count, unit] = /^(\d+)\s+(minutes?|hours?|days?)$/.exec(inner) ?? [];
    return count === undefined || unit === undefined ? undefined : rate(Number(count), unit);
  } catch {
    return undefined;
  }
}

/** The timing of a definition; undefined where it is invalid. */
export function timingOf(definition: ScheduleFields): Timing | undefined {
  const timing = parseExpression(definition.ScheduleExpression, definition.ScheduleExpressionTimezone);
  return timing && withinDates(timing, definition.StartDate, definition.EndDate);
}
