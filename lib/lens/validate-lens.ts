/** Validates a lens and reports all findings with code and JSON pointer. It also compiles the contracts. */
import { jsonPointer } from '../engine/graph/findings.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../engine/json.ts';
import type { FieldSchema, Fields, InputContract, Lens, OutputContract } from '../ports/lenses.ts';
import { compileSchema } from './check.ts';
import { schemaOfField } from './contract.ts';
import { labelKey, parseTemplate, placeholdersIn } from './placeholders.ts';

export interface LensFinding {
  /** JSON pointer into the lens */
  readonly pointer: string;
  readonly code: 'template_invalid' | 'contract_invalid';
  readonly message: string;
}

export function validateLens(lens: Lens): readonly LensFinding[] {
  return [
    ...validateTemplate(lens.template),
    ...validateContract(lens.input, '/input'),
    ...validateContract(lens.output, '/output'),
  ];
}

/** The labels of a template's placeholders, as its author wrote them. */
export const labelsOf = (template: string): readonly { readonly label: string; readonly optional: boolean }[] =>
  placeholdersIn(parseTemplate(template).parts).map(({ label, isOptional }) => ({ label, optional: isOptional }));

function validateTemplate(template: string): readonly LensFinding[] {
  const { parts, unknownTypes } = parseTemplate(template);
  const types = new Map<string, Set<string>>();
  for (const part of parts) {
    if (!('placeholder' in part) || part.placeholder.type === undefined) continue;
    const { key, type } = part.placeholder;
    types.set(key, (types.get(key) ?? new Set()).add(type));
  }
  const invalid = (message: string): LensFinding => ({ pointer: '/template', code: 'template_invalid', message });
  return [
    ...unknownTypes.map(({ label, type }) => invalid(`${label} has the unknown type ${type}`)),
    ...[...types].flatMap(([key, all]) => (all.size > 1 ? [invalid(`${key} has several types: ${[...all].join(', ')}`)] : [])),
  ];
}

const contractFinding = (pointer: string, message: string): LensFinding => ({ pointer, code: 'contract_invalid', message });

function validateContract(contract: InputContract | OutputContract | undefined, pointer: string): readonly LensFinding[] {
  if (contract === undefined) return [];
  if ('jsonSchema' in contract) {
    const subPointer = `${pointer}/jsonSchema`;
    const findings = schemaFindings(contract.jsonSchema);
    if (findings.length > 0) return findings.map((finding) => contractFinding(subPointer + finding.pointer, finding.message));
    const result = compileSchema(contract.jsonSchema);
    return 'error' in result ? [contractFinding(subPointer, result.error)] : [];
  }
  return [
    ...validateFields(contract.fields, `${pointer}/fields`),
    ...('requireAnyOf' in contract
      ? validateGroups(contract.fields, contract.requireAnyOf ?? [], `${pointer}/requireAnyOf`)
      : []),
  ];
}

function validateFields(fields: Fields, pointer: string): readonly LensFinding[] {
  const seen = new Map<string, string>();
  return Object.entries(fields).flatMap(([label, field]) => {
    const subPointer = pointer + jsonPointer(label);
    const other = seen.get(labelKey(label));
    seen.set(labelKey(label), label);
    return [
      ...(other === undefined
        ? []
        : [contractFinding(subPointer, `is the same label as ${other}: labels are compared without case and spaces`)]),
      ...(labelKey(label) === '' ? [contractFinding(subPointer, 'a label must contain a letter')] : []),
      ...inconsistentBounds(field, subPointer),
      ...uncompilableField(field, subPointer),
    ];
  });
}

const inconsistentBounds = (
  { min, max, minLength, maxLength, type, itemType }: FieldSchema,
  subPointer: string,
): readonly LensFinding[] => [
  ...(min !== undefined && max !== undefined && min > max ? [contractFinding(`${subPointer}/min`, 'is above max')] : []),
  ...(minLength !== undefined && maxLength !== undefined && minLength > maxLength
    ? [contractFinding(`${subPointer}/minLength`, 'is above maxLength')]
    : []),
  ...(itemType !== undefined && type !== 'array'
    ? [contractFinding(`${subPointer}/itemType`, 'is only allowed for arrays')]
    : []),
];

function uncompilableField(field: FieldSchema, subPointer: string): readonly LensFinding[] {
  const result = compileSchema(schemaOfField(field));
  if (!('error' in result)) return [];
  return [contractFinding(field.pattern === undefined ? subPointer : `${subPointer}/pattern`, result.error)];
}

const validateGroups = (fields: Fields, groups: readonly (readonly string[])[], pointer: string): readonly LensFinding[] => {
  const declared = new Set(Object.keys(fields).map(labelKey));
  return groups.flatMap((group, index) =>
    group.flatMap((label, inner) =>
      declared.has(labelKey(label))
        ? []
        : [contractFinding(pointer + jsonPointer(index, inner), `${label} is not a declared field`)],
    ),
  );
};

interface SchemaFinding {
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

/**
 * Rules for authors' JSON Schemas, so that validation terminates soon and without network access: no external references,
 * no recursive references, and a bounded size.
 */
function schemaFindings(schema: JsonObject): readonly SchemaFinding[] {
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
