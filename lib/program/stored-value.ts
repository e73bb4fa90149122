/** Values of the author's code as they are stored: as JSON has them, and refused, with the place, where JSON would lose them. */
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { toldFailure } from '../engine/log/failure-limits.ts';
import { treeLimits } from '../engine/tree.ts';
import { wordsOf } from '../engine/words-of.ts';

/** of its JSON text in UTF-8: what one stored value may be */
const mostBytes = 16 * 1_048_576;
const mostLevels = treeLimits.levels;

export type Storing =
  | { readonly kind: 'stored'; readonly value: JsonValue }
  | { readonly kind: 'refused'; readonly failure: Failure };

/** @param what begins the code of a refusal: `result_not_serialisable`, `input_too_large` */
export function storedValue(given: unknown, what: 'result' | 'input' | 'data'): Storing {
  try {
    const value = written(given, { path: '', key: '', within: [] }) ?? null;
    const bytes = bytesOf(JSON.stringify(value));
    if (bytes <= mostBytes) return { kind: 'stored', value };
    return refused(`${what}_too_large`, `the ${what} has ${bytes} bytes as JSON, and may have ${mostBytes}`, {
      bytes,
      mostBytes,
    });
  } catch (error) {
    if (error instanceof Unstorable) {
      const at = error.path === '' ? '' : ` at ${error.path}`;
      return refused(`${what}_not_serialisable`, `the ${what} cannot be stored: ${error.message}${at}`, { path: error.path });
    }
    // A getter or a `toJSON` of the author's.
    return refused(`${what}_not_serialisable`, `the ${what} cannot be stored: ${wordsOf(error)}`, { path: '' });
  }
}

const refused = (code: string, message: string, details: JsonObject): Storing => ({
  kind: 'refused',
  failure: toldFailure({ cause: 'invalid', code, message, details }),
});

class Unstorable extends Error {
  readonly path: string;
  constructor(what: string, path: string) {
    super(what);
    this.path = path;
  }
}

interface Place {
  readonly path: string;
  readonly key: string;
  /** the objects around it */
  readonly within: readonly object[];
}

/** Undefined: it is left out. */
function written(value: unknown, place: Place): JsonValue | undefined {
  const refuse = (what: string): never => {
    throw new Unstorable(what, place.path);
  };
  if (value === null || typeof value === 'boolean' || value === undefined) return value;
  if (typeof value === 'string') return value.isWellFormed() ? value : refuse('a text with half a character');
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : refuse(`${value} is no number in JSON`);
  if (typeof value !== 'object') return refuse(typeof value === 'bigint' ? `the bigint ${value}` : `a ${typeof value}`);
  if (place.within.includes(value)) return refuse('an object that contains itself');
  if (place.within.length >= mostLevels) return refuse(`more than ${mostLevels} levels`);
  const within = [...place.within, value];
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime())) return refuse('a Date that is no time');
    return written(value.toJSON(place.key), { ...place, within });
  }
  if (Array.isArray(value))
    return value.map((part: unknown, index) => written(part, inside(place, String(index), within)) ?? null);
  if (isNoRecord(value)) return refuse(`a ${nameOf(value)}`);
  const fields = value instanceof Error ? fieldsOfError(value) : Object.entries(value);
  return Object.fromEntries(
    fields.flatMap(([key, part]) => {
      if (key === '__proto__' || !key.isWellFormed()) return refuse(`the key ${JSON.stringify(key)}`);
      const field = written(part, inside(place, key, within));
      return field === undefined ? [] : [[key, field]];
    }),
  );
}

/** Those that say what it is are not its own, or not enumerable. */
const fieldsOfError = (error: Error): readonly (readonly [string, unknown])[] => [
  ['name', error.name],
  ['message', error.message],
  ...Object.entries(error),
];

const inside = (place: Place, key: string, within: readonly object[]): Place => ({
  path: `${place.path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
  key,
  within,
});

/** They have what they hold elsewhere than in their fields: JSON makes `{}` of them. */
const withoutFields = [Map, Set, WeakMap, WeakSet, WeakRef, Promise, RegExp, ArrayBuffer] as const;
const isNoRecord = (value: object): boolean => withoutFields.some((kind) => value instanceof kind) || ArrayBuffer.isView(value);

const nameOf = (value: object): string => value.constructor.name;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** One that the code may change without changing anybody else's. */
export function ownCopy(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map(ownCopy);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, ownCopy(part)]));
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
