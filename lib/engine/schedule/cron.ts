/**
 * Cron expressions in the format of EventBridge Scheduler: minutes, hours, day of month, month, day of week, year
 * (https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based). A local time that a clock change skips never
 * fires; one that occurs twice fires once, the first time.
 */
import type { Instant } from '../time.ts';
import { type WallTime, firstInstantShowing, wallTimeAt, daysInMonth, weekdayOf } from './zone.ts';

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
    return { kind: 'refused', errors: [wrongFieldCount] };
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

const wrongFieldCount =
  'must have six fields: minutes, hours, day of month, month, day of week, year; or the first five as in Unix cron, where weekdays are 0 to 7';

export type ConvertedCron =
  | { readonly kind: 'converted'; /** six fields */ readonly cron: string }
  /** each is the end of a sentence that begins with "cron" */
  | { readonly kind: 'refused'; readonly errors: readonly string[] };

/**
 * Five fields as in Unix cron, converted to six: weekdays from 0 to 7 with Sunday at both ends become names, and one day field becomes `?`.
 * Other texts stay as they are. Two restricted day fields are refused: Unix cron fires when either matches, and one expression of
 * EventBridge Scheduler cannot say that.
 */
export function convertUnixCron(text: string): ConvertedCron {
  const [minutes = '', hours = '', dayOfMonth = '', month = '', dayOfWeek, ...more] = text.trim().split(/\s+/);
  if (dayOfWeek === undefined || more.length > 0) return { kind: 'converted', cron: text };
  const special = [dayOfMonth, dayOfWeek].find((field) => field === '?' || /[#?]|^\d*[LW]$|^\w+L$/i.test(field));
  if (special !== undefined) {
    return {
      kind: 'refused',
      errors: [`has five fields as in Unix cron, which does not know ${special}: add the year as a sixth field`],
    };
  }
  const weekdays = readField(unixWeekdays, dayOfWeek.replaceAll(/-sun(?![a-z])/gi, '-7'));
  if (weekdays.kind === 'refused') return { kind: 'refused', errors: [fieldError(unixWeekdays.name, weekdays.reason)] };
  const names = weekdayNames.filter((_, day) => weekdays.values.some((value) => value % 7 === day));
  const dates = readField(fieldShapes.dayOfMonth, dayOfMonth);
  const isEveryDate = dates.kind === 'read' && dates.values.length === fieldShapes.dayOfMonth.max;
  const isEveryWeekday = names.length === weekdayNames.length;
  if (!isEveryDate && !isEveryWeekday) return { kind: 'refused', errors: [twoDayFields] };
  const days = isEveryWeekday ? [dayOfMonth, month, '?'] : ['?', month, namesText(names)];
  return { kind: 'converted', cron: [minutes, hours, ...days, '*'].join(' ') };
}

const twoDayFields =
  'restricts the day of month and the day of week: Unix cron fires when either matches, which one schedule cannot do; create two ' +
  'schedules, each with * in one of the two fields';

/** A range where the names follow each other, else a list. */
function namesText(names: readonly string[]): string {
  const [first = '', last = ''] = [names[0], names.at(-1)];
  const length = weekdayNames.findIndex((name) => name === last) - weekdayNames.findIndex((name) => name === first) + 1;
  return names.length > 2 && length === names.length ? `${first}-${last}` : names.join(',');
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

type DayRule =
  | { readonly by: 'month'; readonly days: readonly number[] }
  /** last day of the month */
  | { readonly by: 'last' }
  /** the weekday, Monday to Friday, nearest to a day, within the month */
  | { readonly by: 'nearest weekday'; readonly day: number }
  | { readonly by: 'week'; readonly weekdays: readonly number[] }
  /** last of one weekday in the month */
  | { readonly by: 'last of weekday'; readonly weekday: number }
  /** first, second … of one weekday in the month */
  | { readonly by: 'nth of weekday'; readonly weekday: number; readonly nth: number };

type ReadDay = { readonly kind: 'read'; readonly rule: DayRule } | { readonly kind: 'refused'; readonly reason: string };

function readDayOfMonth(text: string): ReadDay {
  if (text.toUpperCase() === 'L') return { kind: 'read', rule: { by: 'last' } };
  const [, nearest] = /^(\d{1,2})W$/i.exec(text) ?? [];
  if (nearest === undefined) return withPlainDays(readField(fieldShapes.dayOfMonth, text), (days) => ({ by: 'month', days }));
  const day = readValue(fieldShapes.dayOfMonth, nearest);
  return day === undefined
    ? { kind: 'refused', reason: `takes ${rangeText(fieldShapes.dayOfMonth)} before W, not ${JSON.stringify(nearest)}` }
    : { kind: 'read', rule: { by: 'nearest weekday', day } };
}

function readDayOfWeek(text: string): ReadDay {
  // `L` alone is the last day of the week.
  if (text.toUpperCase() === 'L') return { kind: 'read', rule: { by: 'week', weekdays: [fieldShapes.dayOfWeek.max] } };
  const [, lastOf] = /^(\w+)L$/i.exec(text) ?? [];
  if (lastOf !== undefined) return withWeekday(lastOf, (weekday) => ({ by: 'last of weekday', weekday }));
  if (!text.includes('#')) return withPlainDays(readField(fieldShapes.dayOfWeek, text), (weekdays) => ({ by: 'week', weekdays }));
  const [, name = '', nth = ''] = /^(\w+)#([1-5])$/.exec(text) ?? [];
  if (nth === '') return { kind: 'refused', reason: `takes one weekday, # and 1 to 5, not ${JSON.stringify(text)}` };
  return withWeekday(name, (weekday) => ({ by: 'nth of weekday', weekday, nth: Number(nth) }));
}

const withPlainDays = (field: ReadField, rule: (values: readonly number[]) => DayRule): ReadDay =>
  field.kind === 'read' ? { kind: 'read', rule: rule(field.values) } : field;

function withWeekday(name: string, rule: (weekday: number) => DayRule): ReadDay {
  const weekday = readValue(fieldShapes.dayOfWeek, name);
  return weekday === undefined
    ? { kind: 'refused', reason: `takes ${rangeText(fieldShapes.dayOfWeek)}, not ${JSON.stringify(name)}` }
    : { kind: 'read', rule: rule(weekday) };
}

/** Days of the month that match the rule, ascending. */
function daysIn(rule: DayRule, year: number, month: number): readonly number[] {
  const last = daysInMonth(year, month);
  const all = Array.from({ length: last }, (_, index) => index + 1);
  const weekday = (day: number): number => weekdayOf({ year, month, day });
  switch (rule.by) {
    case 'month':
      return rule.days.filter((day) => day <= last);
    case 'last':
      return [last];
    case 'nearest weekday':
      return rule.day > last ? [] : [nearestWeekday(rule.day, last, weekday(rule.day))];
    case 'week':
      return all.filter((day) => rule.weekdays.includes(weekday(day)));
    case 'last of weekday':
      return all.filter((day) => weekday(day) === rule.weekday).slice(-1);
    case 'nth of weekday':
      return all.filter((day) => weekday(day) === rule.weekday).slice(rule.nth - 1, rule.nth);
  }
}

const sunday = 1;
const saturday = 7;
function nearestWeekday(day: number, last: number, weekday: number): number {
  if (weekday === saturday) return day === 1 ? day + 2 : day - 1;
  if (weekday === sunday) return day === last ? day - 2 : day + 1;
  return day;
}

/** Parses one field of a cron expression: numbers, names, ranges, lists and steps. */
interface FieldShape {
  readonly name: CronFieldName;
  readonly min: number;
  readonly max: number;
  /** names of the values, beginning with the name of `min` */
  readonly names?: readonly string[];
}

type CronFieldName = 'minutes' | 'hours' | 'day of month' | 'month' | 'day of week' | 'year';

const weekdayNames: readonly string[] = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const fieldShapes = {
  minutes: { name: 'minutes', min: 0, max: 59 },
  hours: { name: 'hours', min: 0, max: 23 },
  dayOfMonth: { name: 'day of month', min: 1, max: 31 },
  month: {
    name: 'month',
    min: 1,
    max: 12,
    names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
  },
  dayOfWeek: { name: 'day of week', min: 1, max: 7, names: weekdayNames },
  year: { name: 'year', min: 1970, max: 2199 },
} as const satisfies Record<string, FieldShape>;

const unixWeekdays = { name: 'day of week', min: 0, max: 7, names: weekdayNames } as const satisfies FieldShape;

/** The values in ascending order, or the error as the end of a sentence that begins with the field's name. */
type ReadField =
  | { readonly kind: 'read'; readonly values: readonly number[] }
  | { readonly kind: 'refused'; readonly reason: string };

function readField(shape: FieldShape, text: string): ReadField {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const range = readPart(shape, part);
    if (typeof range === 'string') return { kind: 'refused', reason: range };
    for (let value = range.first; value <= range.last; value += range.step) values.add(value);
  }
  return { kind: 'read', values: [...values].toSorted((one, other) => one - other) };
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

function readPart(shape: FieldShape, part: string): Range | string {
  const [range = '', stepText, ...more] = part.split('/');
  if (more.length > 0) return `has two steps in ${JSON.stringify(part)}`;
  const step = stepText === undefined ? 1 : wholeNumber(stepText);
  if (step === undefined || step < 1) return `has a step that is not a whole number from 1 in ${JSON.stringify(part)}`;
  if (range === '*') return { first: shape.min, last: shape.max, step };
  const [firstText = '', lastText, ...ends] = range.split('-');
  if (ends.length > 0) return `has a range with more than two ends in ${JSON.stringify(part)}`;
  const first = readValue(shape, firstText);
  if (first === undefined) return `takes ${rangeText(shape)}, not ${JSON.stringify(firstText)}`;
  if (lastText === undefined) return { first, last: stepText === undefined ? first : shape.max, step };
  const last = readValue(shape, lastText);
  if (last === undefined) return `takes ${rangeText(shape)}, not ${JSON.stringify(lastText)}`;
  return last < first ? `has a range that ends before it begins: ${JSON.stringify(range)}` : { first, last, step };
}

const wholeNumber = (text: string): number | undefined => (/^\d{1,4}$/.test(text) ? Number(text) : undefined);

/** A number or a name; undefined if it is neither, or out of range. */
function readValue({ min, max, names }: FieldShape, text: string): number | undefined {
  const named = names?.indexOf(text.toUpperCase()) ?? -1;
  const value = named >= 0 ? min + named : wholeNumber(text);
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

const rangeText = ({ min, max, names }: FieldShape): string =>
  `${min} to ${max}${names === undefined ? '' : `, or ${names[0]} to ${names.at(-1)}`}`;
