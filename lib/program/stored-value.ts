/** Converts values of the author's code to JSON for the log. It rejects, with a path, values that JSON cannot represent. */
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { reportedFailure } from '../engine/log/event-limits.ts';
import { jsonLimits } from '../engine/validate-json.ts';
import { errorText } from '../engine/error-text.ts';

/** limit of one stored value, as JSON text in UTF-8 */
export const maxStoredBytes = 16 * 1_048_576;
const maxLevels = jsonLimits.levels;

export type StorableResult =
  | { readonly kind: 'stored'; readonly value: JsonValue }
  | { readonly kind: 'refused'; readonly failure: Failure };

/** @param what prefix of the error code: `result_not_serialisable`, `input_too_large` */
export function storedValue(input: unknown, what: 'result' | 'input' | 'data'): StorableResult {
  try {
    const value = toJson(input, { path: '', key: '', ancestors: [] }) ?? null;
    const bytes = bytesOf(JSON.stringify(value));
    if (bytes <= maxStoredBytes) return { kind: 'stored', value };
    return refused(`${what}_too_large`, `the ${what} has ${bytes} bytes as JSON; the limit is ${maxStoredBytes}`, {
      bytes,
      maxBytes: maxStoredBytes,
    });
  } catch (error) {
    if (error instanceof UnstorableError) {
      const at = error.path === '' ? '' : ` at ${error.path}`;
      return refused(`${what}_not_serialisable`, `the ${what} cannot be stored: ${error.message}${at}`, { path: error.path });
    }
    // A getter or a `toJSON` of the author threw.
    return refused(`${what}_not_serialisable`, `the ${what} cannot be stored: ${errorText(error)}`, { path: '' });
  }
}

const refused = (code: string, message: string, details: JsonObject): StorableResult => ({
  kind: 'refused',
  failure: reportedFailure({ cause: 'invalid', code, message, details }),
});

class UnstorableError extends Error {
  readonly path: string;
  constructor(what: string, path: string) {
    super(what);
    this.path = path;
  }
}

interface Position {
  readonly path: string;
  readonly key: string;
  /** the objects that contain it */
  readonly ancestors: readonly object[];
}

/** @returns undefined when JSON omits the value */
function toJson(value: unknown, position: Position): JsonValue | undefined {
  const refuse = (what: string): never => {
    throw new UnstorableError(what, position.path);
  };
  if (value === null || typeof value === 'boolean' || value === undefined) return value;
  if (typeof value === 'string') return value.isWellFormed() ? value : refuse('a string with a lone surrogate');
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : refuse(`JSON has no ${value}`);
  if (typeof value !== 'object') return refuse(typeof value === 'bigint' ? `the bigint ${value}` : `a ${typeof value}`);
  if (position.ancestors.includes(value)) return refuse('an object that contains itself');
  if (position.ancestors.length >= maxLevels) return refuse(`more than ${maxLevels} levels`);
  const ancestors = [...position.ancestors, value];
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime())) return refuse('an invalid Date');
    return toJson(value.toJSON(position.key), { ...position, ancestors });
  }
  if (Array.isArray(value))
    return value.map((part: unknown, index) => toJson(part, childPosition(position, String(index), ancestors)) ?? null);
  if (isOpaque(value)) return refuse(`a ${nameOf(value)}`);
  const fields = value instanceof Error ? fieldsOfError(value) : Object.entries(value);
  return Object.fromEntries(
    fields.flatMap(([key, part]) => {
      if (key === '__proto__' || !key.isWellFormed()) return refuse(`the key ${JSON.stringify(key)}`);
      const field = toJson(part, childPosition(position, key, ancestors));
      return field === undefined ? [] : [[key, field]];
    }),
  );
}

/** `name` and `message` are inherited or not enumerable, so `Object.entries` misses them. */
const fieldsOfError = (error: Error): readonly (readonly [string, unknown])[] => [
  ['name', error.name],
  ['message', error.message],
  ...Object.entries(error),
];

const childPosition = (position: Position, key: string, ancestors: readonly object[]): Position => ({
  path: `${position.path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
  key,
  ancestors,
});

/** Types whose content is not in enumerable fields: JSON would write `{}`. */
const opaqueTypes = [Map, Set, WeakMap, WeakSet, WeakRef, Promise, RegExp, ArrayBuffer] as const;
const isOpaque = (value: object): boolean => opaqueTypes.some((kind) => value instanceof kind) || ArrayBuffer.isView(value);

const nameOf = (value: object): string => value.constructor.name;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** A copy that the code may change without changing the log. */
export function deepCopy(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map(deepCopy);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, deepCopy(part)]));
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
