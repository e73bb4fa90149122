/** Parses one field of a cron expression: numbers, names, ranges, lists and steps. */

export interface FieldShape {
  readonly name: CronFieldName;
  readonly min: number;
  readonly max: number;
  /** names of the values, beginning with the name of `min` */
  readonly names?: readonly string[];
}

export type CronFieldName = 'minutes' | 'hours' | 'day of month' | 'month' | 'day of week' | 'year';

export const fieldShapes = {
  minutes: { name: 'minutes', min: 0, max: 59 },
  hours: { name: 'hours', min: 0, max: 23 },
  dayOfMonth: { name: 'day of month', min: 1, max: 31 },
  month: {
    name: 'month',
    min: 1,
    max: 12,
    names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
  },
  dayOfWeek: { name: 'day of week', min: 1, max: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] },
  year: { name: 'year', min: 1970, max: 2199 },
} as const satisfies Record<string, FieldShape>;

/** The values in ascending order, or the error as the end of a sentence that begins with the field's name. */
export type ReadField =
  | { readonly kind: 'read'; readonly values: readonly number[] }
  | { readonly kind: 'refused'; readonly reason: string };

export function readField(shape: FieldShape, text: string): ReadField {
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
export function readValue({ min, max, names }: FieldShape, text: string): number | undefined {
  const named = names?.indexOf(text.toUpperCase()) ?? -1;
  const value = named >= 0 ? min + named : wholeNumber(text);
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

export const rangeText = ({ min, max, names }: FieldShape): string =>
  `${min} to ${max}${names === undefined ? '' : `, or ${names[0]} to ${names.at(-1)}`}`;
