/** The day fields of a cron expression: days of the month, or weekdays. */
import { type ReadField, fieldShapes, readField, readValue, rangeText } from './cron-field.ts';
import { daysInMonth, weekdayOf } from './zone.ts';

export type DayRule =
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

export type ReadDay = { readonly kind: 'read'; readonly rule: DayRule } | { readonly kind: 'refused'; readonly reason: string };

export function readDayOfMonth(text: string): ReadDay {
  if (text.toUpperCase() === 'L') return { kind: 'read', rule: { by: 'last' } };
  const [, nearest] = /^(\d{1,2})W$/i.exec(text) ?? [];
  if (nearest === undefined) return withPlainDays(readField(fieldShapes.dayOfMonth, text), (days) => ({ by: 'month', days }));
  const day = readValue(fieldShapes.dayOfMonth, nearest);
  return day === undefined
    ? { kind: 'refused', reason: `takes ${rangeText(fieldShapes.dayOfMonth)} before W, not ${JSON.stringify(nearest)}` }
    : { kind: 'read', rule: { by: 'nearest weekday', day } };
}

export function readDayOfWeek(text: string): ReadDay {
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
export function daysIn(rule: DayRule, year: number, month: number): readonly number[] {
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
