/** Parses durations: `1h`, `1.5 days`, `30s`. A number, or a string without a unit, is in milliseconds. */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
/** 30.4375 days: a twelfth of a year */
const month = 2_629_800_000;
/** 365.25 days */
const year = 31_557_600_000;

const units: Readonly<Record<string, number>> = {
  ...unitNames(1, 'ms', 'msec', 'msecs', 'millisecond', 'milliseconds'),
  ...unitNames(second, 's', 'sec', 'secs', 'second', 'seconds'),
  ...unitNames(minute, 'm', 'min', 'mins', 'minute', 'minutes'),
  ...unitNames(hour, 'h', 'hr', 'hrs', 'hour', 'hours'),
  ...unitNames(day, 'd', 'day', 'days'),
  ...unitNames(7 * day, 'w', 'week', 'weeks'),
  ...unitNames(month, 'mo', 'month', 'months'),
  ...unitNames(year, 'y', 'yr', 'yrs', 'year', 'years'),
};

function unitNames(ms: number, ...names: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(names.map((name) => [name, ms]));
}

type Unit =
  | ('ms' | 'msec' | 'msecs' | 'millisecond' | 'milliseconds' | 's' | 'sec' | 'secs' | 'second' | 'seconds')
  | ('m' | 'min' | 'mins' | 'minute' | 'minutes' | 'h' | 'hr' | 'hrs' | 'hour' | 'hours' | 'd' | 'day' | 'days')
  | ('w' | 'week' | 'weeks' | 'mo' | 'month' | 'months' | 'y' | 'yr' | 'yrs' | 'year' | 'years');
type AnyCase<Text extends string> = Text | Uppercase<Text> | Capitalize<Text>;

export type DurationString = `${number}` | `${number}${AnyCase<Unit>}` | `${number} ${AnyCase<Unit>}`;
/** A number is in milliseconds. */
export type Duration = number | DurationString;

const pattern = /^(-?\.?\d+(?:\.\d+)?)\s*([a-z]+)?$/i;

/** @returns milliseconds. @throws TypeError for an invalid duration; the message quotes it */
export function parseDuration(given: unknown): number {
  const ms = typeof given === 'number' ? given : typeof given === 'string' ? msOf(given) : undefined;
  if (ms === undefined || !Number.isFinite(ms) || ms < 0)
    throw new TypeError(
      `not a valid duration: ${JSON.stringify(given) ?? String(given)} (use, for example, "90s", "1.5 days" or 250)`,
    );
  return ms;
}

function msOf(text: string): number | undefined {
  const [, count, unit = 'ms'] = pattern.exec(text) ?? [];
  const unitMs = Object.hasOwn(units, unit.toLowerCase()) ? units[unit.toLowerCase()] : undefined;
  return count === undefined || unitMs === undefined ? undefined : Number(count) * unitMs;
}
