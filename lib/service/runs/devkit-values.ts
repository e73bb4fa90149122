/** Plain JSON in the DevKit's format of values, for callers that have no SDK: the public API and the command line. */
import { type JsonValue, isJsonObject } from '../../engine/json.ts';

/** The DevKit's format of plain values: these letters, and JSON of https://github.com/sveltejs/devalue. Every version reads it. */
const formatMark = 'devl';

/** @returns the bytes in base64 */
export function serializeValue(value: JsonValue): string {
  const table: JsonValue[] = [];
  place(table, value);
  return Buffer.from(formatMark + JSON.stringify(table)).toString('base64');
}

/** An array is the list of arguments, and any other value the only one. @returns the bytes in base64 */
export const serializeArguments = (input: JsonValue | undefined): string =>
  serializeValue(input === undefined ? [] : Array.isArray(input) ? input : [input]);

/** Each value has a place in the table, and lists and objects refer to the places of theirs. */
function place(table: JsonValue[], value: JsonValue): number {
  const index = table.length;
  table.push(null);
  table[index] = entryOf(table, value);
  return index;
}

function entryOf(table: JsonValue[], value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((each: JsonValue) => place(table, each));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, place(table, each)]));
}
