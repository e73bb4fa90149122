/** Formats a value for an error message: cut short, without serializing large values. */
import { type JsonValue, isJsonArray } from '../engine/json.ts';

const maxLength = 100;

export function shownValue(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, maxLength).toWellFormed()).slice(0, maxLength);
  if (isJsonArray(value)) return `an array of ${value.length}`;
  return typeof value === 'object' && value !== null ? `an object with ${Object.keys(value).length} keys` : String(value);
}
