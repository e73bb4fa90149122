/** Everything that is wrong with a lens, at once, each with a code and a place: contracts that do not compile are found here. */
import { pointer } from '../engine/graph/findings.ts';
import type { FieldSchema, Fields, InputContract, Lens, OutputContract } from '../ports/lenses.ts';
import { compileSchema } from './check.ts';
import { schemaOfField } from './field-schema.ts';
import { labelKey, parseTemplate, placeholdersIn } from './placeholders.ts';
import { schemaFaults } from './schema-rules.ts';

export interface LensFinding {
  /** JSON pointer into the lens */
  readonly place: string;
  readonly code: 'template_invalid' | 'contract_invalid';
  readonly message: string;
}

export function judgeLens(lens: Lens): readonly LensFinding[] {
  return [...judgeTemplate(lens.template), ...judgeContract(lens.input, '/input'), ...judgeContract(lens.output, '/output')];
}

/** The labels that a template takes values for, as its author wrote them. */
export const labelsOf = (template: string): readonly { readonly label: string; readonly optional: boolean }[] =>
  placeholdersIn(parseTemplate(template).parts).map(({ label, isOptional }) => ({ label, optional: isOptional }));

function judgeTemplate(template: string): readonly LensFinding[] {
  const { parts, unknownTypes } = parseTemplate(template);
  const types = new Map<string, Set<string>>();
  for (const part of parts) {
    if (!('placeholder' in part) || part.placeholder.type === undefined) continue;
    const { key, type } = part.placeholder;
    types.set(key, (types.get(key) ?? new Set()).add(type));
  }
  const invalid = (message: string): LensFinding => ({ place: '/template', code: 'template_invalid', message });
  return [
    ...unknownTypes.map(({ label, type }) => invalid(`${label} cannot be of type ${type}: there is none of that name`)),
    ...[...types].flatMap(([key, all]) => (all.size > 1 ? [invalid(`${key} is ${[...all].join(' and ')} at once`)] : [])),
  ];
}

const found = (place: string, message: string): LensFinding => ({ place, code: 'contract_invalid', message });

function judgeContract(contract: InputContract | OutputContract | undefined, place: string): readonly LensFinding[] {
  if (contract === undefined) return [];
  if ('jsonSchema' in contract) {
    const at = `${place}/jsonSchema`;
    const faults = schemaFaults(contract.jsonSchema);
    if (faults.length > 0) return faults.map((fault) => found(at + fault.place, fault.message));
    const result = compileSchema(contract.jsonSchema);
    return 'fault' in result ? [found(at, result.fault)] : [];
  }
  return [
    ...judgeFields(contract.fields, `${place}/fields`),
    ...('requireAnyOf' in contract ? judgeGroups(contract.fields, contract.requireAnyOf ?? [], `${place}/requireAnyOf`) : []),
  ];
}

function judgeFields(fields: Fields, place: string): readonly LensFinding[] {
  const seen = new Map<string, string>();
  return Object.entries(fields).flatMap(([label, field]) => {
    const at = place + pointer(label);
    const other = seen.get(labelKey(label));
    seen.set(labelKey(label), label);
    return [
      ...(other === undefined ? [] : [found(at, `is the same label as ${other}: neither case nor spaces count`)]),
      ...(labelKey(label) === '' ? [found(at, 'a label has a letter')] : []),
      ...crossed(field, at),
      ...uncompiled(field, at),
    ];
  });
}

const crossed = ({ min, max, minLength, maxLength, type, itemType }: FieldSchema, at: string): readonly LensFinding[] => [
  ...(min !== undefined && max !== undefined && min > max ? [found(`${at}/min`, 'is above max')] : []),
  ...(minLength !== undefined && maxLength !== undefined && minLength > maxLength
    ? [found(`${at}/minLength`, 'is above maxLength')]
    : []),
  ...(itemType !== undefined && type !== 'array' ? [found(`${at}/itemType`, 'is of arrays only')] : []),
];

function uncompiled(field: FieldSchema, at: string): readonly LensFinding[] {
  const result = compileSchema(schemaOfField(field));
  if (!('fault' in result)) return [];
  return [found(field.pattern === undefined ? at : `${at}/pattern`, result.fault)];
}

const judgeGroups = (fields: Fields, groups: readonly (readonly string[])[], place: string): readonly LensFinding[] => {
  const declared = new Set(Object.keys(fields).map(labelKey));
  return groups.flatMap((group, index) =>
    group.flatMap((label, inner) =>
      declared.has(labelKey(label)) ? [] : [found(place + pointer(index, inner), `${label} is not a declared field`)],
    ),
  );
};
