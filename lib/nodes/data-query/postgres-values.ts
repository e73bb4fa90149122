/** What Postgres answers, as JSON: numbers where they are exact, texts where they would not be, times in ISO 8601. */
import { readArray } from './postgres-array.ts';
import type { JsonValue } from '../../engine/json.ts';

type Read = (text: string) => JsonValue;

/** Written exactly or left a text: bigint and float go beyond what a JSON number says. */
const exactNumber: Read = (text) => (String(Number(text)) === text || Number.isSafeInteger(Number(text)) ? finite(text) : text);
const finite: Read = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);
/** The session is in UTC and writes `2026-01-31 12:00:00.5+00`. */
const time: Read = (text) => text.replace(' ', 'T').replace(/\+00$/, 'Z');
const json: Read = (text) => {
  const value: JsonValue = JSON.parse(text);
  return value;
};

/** By the OIDs of Postgres's catalogue (`pg_type.dat`), which do not change. What is not here is a text. */
const readers: ReadonlyMap<number, Read> = new Map([
  [16, (text) => text === 't'],
  [20, exactNumber],
  [21, finite],
  [23, finite],
  [26, finite],
  [700, finite],
  [701, finite],
  [114, json],
  [3_802, json],
  [1_114, time],
  [1_184, time],
]);
/** Arrays of these are arrays. */
const elementOf: ReadonlyMap<number, number> = new Map([
  [1_000, 16],
  [1_016, 20],
  [1_005, 21],
  [1_007, 23],
  [1_021, 700],
  [1_022, 701],
  [1_009, 25],
  [1_015, 1_043],
  [1_231, 1_700],
  [2_951, 2_950],
  [199, 114],
  [3_807, 3_802],
  [1_115, 1_114],
  [1_185, 1_184],
]);

/** For the driver's own option `types`. */
export const valueTypes = {
  getTypeParser: (oid: number) => (text: string) => {
    const element = elementOf.get(oid);
    return element === undefined ? (readers.get(oid) ?? unchanged)(text) : readArray(text, readers.get(element) ?? unchanged);
  },
};
const unchanged: Read = (text) => text;

/** An object goes as JSON and an array as an array of Postgres; whatever is in one of these is JSON. */
export const toParameter = (value: JsonValue): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : value;
