/** Converts values of Postgres to JSON: numbers when exact, otherwise strings; times in ISO 8601. */
import type { JsonValue } from '../../engine/json.ts';

type Read = (text: string) => JsonValue;

/** A number if exact, otherwise a string: bigint may exceed the precision of a JSON number. */
const exactNumber: Read = (text) => (String(Number(text)) === text || Number.isSafeInteger(Number(text)) ? finite(text) : text);
const finite: Read = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);
/** The session uses UTC and returns `2026-01-31 12:00:00.5+00`. */
const time: Read = (text) => text.replace(' ', 'T').replace(/\+00$/, 'Z');
const json: Read = (text) => {
  const value: JsonValue = JSON.parse(text);
  return value;
};

/** By the stable OIDs of the Postgres catalogue (`pg_type.dat`). Other types become strings. */
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
/** Array type to element type. */
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

/** An object is sent as JSON, an array as a Postgres array; the driver encodes nested values. */
export const toParameter = (value: JsonValue): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : value;

/** Parses the text form of a Postgres array: `{1,NULL,"a \"b\"",{2}}`, with a prefix for unusual bounds. */
export function readArray(text: string, read: (element: string) => JsonValue): JsonValue {
  let at = text.indexOf('{');
  const element = (): JsonValue => {
    if (text[at] === '{') return list();
    if (text[at] === '"') return read(quoted());
    const end = text.slice(at).search(/[,}]/);
    const word = text.slice(at, at + end);
    at += end;
    return word === 'NULL' ? null : read(word);
  };
  const quoted = (): string => {
    let inner = '';
    for (at += 1; at < text.length && text[at] !== '"'; at += 1) {
      if (text[at] === '\\') at += 1;
      inner += text[at] ?? '';
    }
    at += 1;
    return inner;
  };
  const list = (): JsonValue => {
    const items: JsonValue[] = [];
    at += 1;
    while (at < text.length && text[at] !== '}') {
      items.push(element());
      if (text[at] === ',') at += 1;
    }
    at += 1;
    return items;
  };
  return at === -1 ? null : list();
}
