/**
 * What an author's JSON Schema may not do, because checking a value by it must end, soon, and without asking anybody:
 * refer to anything outside itself, refer to itself in a circle, or grow without bounds.
 */
import { pointer } from '../engine/graph/findings.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../engine/json.ts';

export interface SchemaFault {
  /** JSON pointer into the schema */
  readonly place: string;
  readonly message: string;
}

/** Subschemas, counted as often as they are referred to: ten thousand are checked in milliseconds. */
const mostExpanded = 10_000;
const deepest = 64;
/** Each takes up to 10 ms to compile. */
const mostPatterns = 100;
/** Comparing each item with each is quadratic. */
const mostUniqueItems = 1_000;
const refused = ['$id', '$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$vocabulary', '$async'];

export function schemaFaults(schema: JsonObject): readonly SchemaFault[] {
  const faults: SchemaFault[] = [];
  let patterns = 0;
  const walk = (value: JsonValue, place: string, depth: number): void => {
    if (depth > deepest) return void faults.push({ place, message: `a schema is at most ${deepest} levels deep` });
    if (Array.isArray(value)) for (const [index, item] of value.entries()) walk(item, place + pointer(index), depth + 1);
    if (!isJsonObject(value)) return;
    for (const key of refused)
      if (Object.hasOwn(value, key)) faults.push({ place: place + pointer(key), message: `${key} cannot be used here` });
    const { $ref: reference } = value;
    if (typeof reference === 'string' && !/^#(\/|$)/.test(reference))
      faults.push({ place: `${place}/$ref`, message: 'refers to something outside this schema' });
    if (value['uniqueItems'] === true && !(typeof value['maxItems'] === 'number' && value['maxItems'] <= mostUniqueItems))
      faults.push({ place: `${place}/uniqueItems`, message: `needs maxItems of at most ${mostUniqueItems} beside it` });
    if (typeof value['pattern'] === 'string') patterns += 1;
    const { patternProperties } = value;
    if (isJsonObject(patternProperties)) patterns += Object.keys(patternProperties).length;
    for (const [key, below] of Object.entries(value)) walk(below, place + pointer(key), depth + 1);
  };
  walk(schema, '', 0);
  if (patterns > mostPatterns)
    faults.push({ place: '', message: `has ${patterns} patterns, more than the limit of ${mostPatterns}` });
  if (faults.length > 0) return faults;
  const size = expandedSize(schema);
  if (size === 'circular') return [{ place: '', message: 'refers to itself in a circle' }];
  return size > mostExpanded
    ? [{ place: '', message: `has more than ${mostExpanded} parts, each counted where it is used` }]
    : [];
}

/** How many parts the schema has when every reference is replaced by what it refers to. */
function expandedSize(root: JsonObject): number | 'circular' {
  const known = new Map<JsonValue, number>();
  const under = new Set<JsonValue>();
  const sizeOf = (value: JsonValue): number => {
    if (typeof value !== 'object' || value === null) return 1;
    const before = known.get(value);
    if (before !== undefined) return before;
    if (under.has(value)) return Number.POSITIVE_INFINITY;
    under.add(value);
    let size = 1;
    for (const below of Object.values(value)) size += sizeOf(below);
    const reference = isJsonObject(value) ? value['$ref'] : undefined;
    if (typeof reference === 'string') size += sizeOf(at(root, reference) ?? null);
    under.delete(value);
    known.set(value, size);
    return size;
  };
  const size = sizeOf(root);
  return Number.isFinite(size) ? size : 'circular';
}

const at = (root: JsonValue, reference: string): JsonValue | undefined => {
  let value: JsonValue | undefined = root;
  for (const step of reference.split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.entries(value).find(([name]) => name === key)?.[1];
  }
  return value;
};

const decoded = (step: string): string => {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
};
