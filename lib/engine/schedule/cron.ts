/**
 * Cron expressions in the format of EventBridge Scheduler: minutes, hours, day of month, month, day of week, year
 * (https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based). A local time that a clock change skips never
 * fires; one that occurs twice fires once, the first time.
 */
import type { Instant } from '../time.ts';
import { type DayRule, type ReadDay, daysIn, readDayOfMonth, readDayOfWeek } from './cron-day.ts';
import { type CronFieldName, type FieldShape, fieldShapes, readField } from './cron-field.ts';
import { type WallTime, firstInstantShowing, wallTimeAt } from './zone.ts';

export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: readonly number[];
  readonly years: readonly number[];
  readonly day: DayRule;
}

export type ReadCron =
  | { readonly kind: 'read'; readonly cron: Cron }
  /** each is the end of a sentence that begins with "cron" */
  | { readonly kind: 'refused'; readonly errors: readonly string[] };

export function readCron(text: string): ReadCron {
  const [minutes, hours, dayOfMonth, month, dayOfWeek, year, ...more] = text.trim().split(/\s+/);
  if (
    minutes === undefined ||
    hours === undefined ||
    dayOfMonth === undefined ||
    month === undefined ||
    dayOfWeek === undefined ||
    year === undefined ||
    more.length > 0
  ) {
    return { kind: 'refused', errors: ['must have six fields: minutes, hours, day of month, month, day of week, year'] };
  }
  const errors: string[] = [];
  const values = (shape: FieldShape, field: string): readonly number[] => {
    const read = readField(shape, field);
    if (read.kind === 'read') return read.values;
    errors.push(fieldError(shape.name, read.reason));
    return [];
  };
  const cron = {
    minutes: values(fieldShapes.minutes, minutes),
    hours: values(fieldShapes.hours, hours),
    months: values(fieldShapes.month, month),
    years: values(fieldShapes.year, year),
  };
  const day = readDay(dayOfMonth, dayOfWeek);
  if (day.kind === 'refused') errors.push(day.reason);
  return day.kind === 'refused' || errors.length > 0
    ? { kind: 'refused', errors }
    : { kind: 'read', cron: { ...cron, day: day.rule } };
}

const fieldError = (name: CronFieldName, reason: string): string => `the field ${name} ${reason}`;

/** One of the two fields selects the days, the other is `?`. */
function readDay(dayOfMonth: string, dayOfWeek: string): ReadDay {
  if ((dayOfMonth === '?') === (dayOfWeek === '?')) {
    return { kind: 'refused', reason: 'exactly one of the fields day of month and day of week must be ?' };
  }
  const name = dayOfWeek === '?' ? 'day of month' : 'day of week';
  const read = dayOfWeek === '?' ? readDayOfMonth(dayOfMonth) : readDayOfWeek(dayOfWeek);
  return read.kind === 'refused' ? { kind: 'refused', reason: fieldError(name, read.reason) } : read;
}

/** The first matching time after `after` in this time zone; undefined if there is none. */
export function nextCronTime(cron: Cron, zone: string, after: Instant): Instant | undefined {
  const from = wallTimeAt(zone, after);
  for (const year of cron.years.filter((each) => each >= from.year)) {
    for (const month of cron.months.filter((each) => year > from.year || each >= from.month)) {
      for (const day of daysIn(cron.day, year, month)) {
        const found = firstOfDay(cron, zone, { year, month, day }, from, after);
        if (found !== undefined) return found;
      }
    }
  }
  return undefined;
}

function firstOfDay(
  { hours, minutes }: Cron,
  zone: string,
  date: Pick<WallTime, 'year' | 'month' | 'day'>,
  from: WallTime,
  after: Instant,
): Instant | undefined {
  const isFirst = date.year === from.year && date.month === from.month;
  if (isFirst && date.day < from.day) return undefined;
  // Later local times begin later, so local times before `from` on its day cannot match.
  const isSameDay = isFirst && date.day === from.day;
  for (const hour of hours) {
    for (const minute of minutes) {
      if (isSameDay && (hour < from.hour || (hour === from.hour && minute < from.minute))) continue;
      const at = firstInstantShowing(zone, { ...date, hour, minute });
      if (at !== undefined && at > after) return at;
    }
  }
  return undefined;
}
