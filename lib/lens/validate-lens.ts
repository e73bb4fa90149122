/** Validates a lens and reports all findings with code and JSON pointer. It also compiles the contracts. */
import { jsonPointer } from '../engine/graph/findings.ts';
import type { FieldSchema, Fields, InputContract, Lens, OutputContract } from '../ports/lenses.ts';
import { compileSchema } from './check.ts';
import { schemaOfField } from './field-schema.ts';
import { labelKey, parseTemplate, placeholdersIn } from './placeholders.ts';
import { schemaFindings } from './schema-rules.ts';

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
