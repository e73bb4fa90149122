/**
 * Rules for authors' JSON Schemas, so that validation terminates soon and without network access: no external references,
 * no recursive references, and a bounded size.
 */
import { jsonPointer } from '../engine/graph/findings.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../engine/json.ts';

export interface SchemaFinding {
  /** JSON pointer into the schema */
  readonly pointer: string;
  readonly message: string;
}

/** Subschemas, counted once per reference. A check of ten thousand takes milliseconds. */
export const maxSchemaParts = 10_000;
export const maxSchemaDepth = 64;
/** A pattern takes up to 10 ms to compile. */
export const maxPatterns = 100;
/** The comparison of items is quadratic. */
const maxUniqueItems = 1_000;
const forbiddenKeywords = ['$id', '$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$vocabulary', '$async'];

export function schemaFindings(schema: JsonObject): readonly SchemaFinding[] {
  const findings: SchemaFinding[] = [];
  let patterns = 0;
  const walk = (value: JsonValue, pointer: string, depth: number): void => {
    if (depth > maxSchemaDepth)
      return void findings.push({ pointer, message: `a schema is at most ${maxSchemaDepth} levels deep` });
    if (Array.isArray(value)) for (const [index, item] of value.entries()) walk(item, pointer + jsonPointer(index), depth + 1);
    if (!isJsonObject(value)) return;
    for (const key of forbiddenKeywords)
      if (Object.hasOwn(value, key)) findings.push({ pointer: pointer + jsonPointer(key), message: `${key} is not allowed` });
    const { $ref: reference } = value;
    if (typeof reference === 'string' && !/^#(\/|$)/.test(reference))
      findings.push({ pointer: `${pointer}/$ref`, message: 'refers to something outside this schema' });
    if (value['uniqueItems'] === true && !(typeof value['maxItems'] === 'number' && value['maxItems'] <= maxUniqueItems))
      findings.push({ pointer: `${pointer}/uniqueItems`, message: `requires maxItems of at most ${maxUniqueItems}` });
    if (typeof value['pattern'] === 'string') patterns += 1;
    const { patternProperties } = value;
    if (isJsonObject(patternProperties)) patterns += Object.keys(patternProperties).length;
    for (const [key, below] of Object.entries(value)) walk(below, pointer + jsonPointer(key), depth + 1);
  };
  walk(schema, '', 0);
  if (patterns > maxPatterns)
    findings.push({ pointer: '', message: `has ${patterns} patterns, more than the limit of ${maxPatterns}` });
  if (findings.length > 0) return findings;
  const size = expandedSize(schema);
  if (size === 'circular') return [{ pointer: '', message: 'refers to itself' }];
  return size > maxSchemaParts
    ? [{ pointer: '', message: `has more than ${maxSchemaParts} parts, counted once per reference` }]
    : [];
}

/** The number of parts after all references are expanded. */
function expandedSize(root: JsonObject): number | 'circular' {
  const sizes = new Map<JsonValue, number>();
  const ancestors = new Set<JsonValue>();
  const sizeOf = (value: JsonValue): number => {
    if (typeof value !== 'object' || value === null) return 1;
    const knownSize = sizes.get(value);
    if (knownSize !== undefined) return knownSize;
    if (ancestors.has(value)) return Number.POSITIVE_INFINITY;
    ancestors.add(value);
    let size = 1;
    for (const below of Object.values(value)) size += sizeOf(below);
    const reference = isJsonObject(value) ? value['$ref'] : undefined;
    if (typeof reference === 'string') size += sizeOf(resolveReference(root, reference) ?? null);
    ancestors.delete(value);
    sizes.set(value, size);
    return size;
  };
  const size = sizeOf(root);
  return Number.isFinite(size) ? size : 'circular';
}

const resolveReference = (root: JsonValue, reference: string): JsonValue | undefined => {
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
