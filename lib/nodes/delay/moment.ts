/** Parses times and durations from a config or a resolved template. */
import type { JsonValue } from '../../engine/json.ts';

/** RFC 3339, or a date, which means midnight UTC. A time without a zone is rejected, because it depends on the machine. */
const date = /^\d{4}-\d{2}-\d{2}$/;
const dateTime = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:?\d{2})$/;
const wholeNumber = /^\s*\d{1,15}(\.\d+)?\s*$/;

/** Milliseconds from a number or a numeric string; undefined for other values and negative numbers. */
export const readMilliseconds = (value: JsonValue): number | undefined => {
  const ms = typeof value === 'string' && wholeNumber.test(value) ? Number(value) : value;
  return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0 ? Math.round(ms) : undefined;
};

/** Milliseconds since 1970, from a number or a written time; undefined for other values. */
export const readMoment = (value: JsonValue): number | undefined => {
  if (typeof value !== 'string' || wholeNumber.test(value)) return readMilliseconds(value);
  const text = value.trim();
  if (!date.test(text) && !dateTime.test(text)) return undefined;
  const ms = Date.parse(text.replace(' ', 'T'));
  return Number.isNaN(ms) ? undefined : ms;
};
