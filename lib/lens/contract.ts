/** Compiles the input and output contracts of a lens to checks. */
import { defined } from '../base/defined.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Fields, InputContract, LensVersion, FieldSchema, FieldType } from '../ports/lenses.ts';
import { type Check, type ContractError, compileSchema } from './check.ts';
import type { Envelope } from './envelope.ts';
import { type Placeholder, labelKey } from './placeholders.ts';

/** Checks the inputs of a node, by the author's labels. */
export type InputCheck = (inputs: JsonObject) => readonly ContractError[];

/** @throws Error when the contract does not compile; publishing a lens checks that it does */
export function inputCheck(contract: InputContract | undefined, placeholders: readonly Placeholder[]): InputCheck {
  const typed = checkFields(typedFields(contract, placeholders), false);
  if (contract === undefined) return typed;
  if ('jsonSchema' in contract) {
    const check = compiled(contract.jsonSchema);
    return (inputs) => [...check(inputs), ...typed(inputs)];
  }
  const check = checkFields(contract.fields, contract.strict === true);
  const groups = contract.requireAnyOf ?? [];
  return (inputs) => {
    const given = present(Object.entries(inputs).map(([label, value]) => [labelKey(label), value]));
    return [...check(inputs), ...typed(inputs), ...groups.flatMap((group) => missingOf(group, given))];
  };
}

/** Types of placeholders that the contract does not declare. */
function typedFields(contract: InputContract | undefined, placeholders: readonly Placeholder[]): Fields {
  const declared = new Set(contract !== undefined && 'fields' in contract ? Object.keys(contract.fields).map(labelKey) : []);
  return Object.fromEntries(
    placeholders.flatMap(({ key, label, type }) => (type === undefined || declared.has(key) ? [] : [[label, { type }]])),
  );
}

/** Compares labels without case and spaces, and reports them as the contract spells them. */
function checkFields(fields: Fields, isStrict: boolean): InputCheck {
  const labels = new Map(Object.keys(fields).map((label) => [labelKey(label), label]));
  const check = compiled(schemaOfFields(fields, isStrict));
  return (inputs) => {
    const entries = Object.entries(inputs).map(([label, value]): [string, JsonValue] => [
      labels.get(labelKey(label)) ?? label,
      value,
    ]);
    return check(present(entries));
  };
}

/** An empty string and null count as absent. */
const present = (entries: readonly [string, JsonValue][]): JsonObject =>
  Object.fromEntries(entries.filter(([, value]) => value !== '' && value !== null));

const missingOf = (group: readonly string[], given: JsonObject): readonly ContractError[] =>
  group.some((label) => Object.hasOwn(given, labelKey(label)))
    ? []
    : [{ field: group.join('|'), reason: 'missing_required', details: 'one of these fields is required' }];

/** @returns whether the contract declares the label of a key as optional */
export const optionalBy = (contract: InputContract | undefined): ((key: string) => boolean) => {
  if (contract === undefined || !('fields' in contract)) return () => false;
  const optional = new Set(
    Object.entries(contract.fields).flatMap(([label, { required }]) => (required === true ? [] : [labelKey(label)])),
  );
  return (key) => optional.has(key);
};

export type OutputCheck = (envelope: Envelope) => readonly ContractError[];

/** Output contracts allow undeclared fields. */
export function outputCheck({ kind, output }: Pick<LensVersion, 'kind' | 'output'>): OutputCheck {
  const check =
    output === undefined
      ? undefined
      : compiled('jsonSchema' in output ? output.jsonSchema : schemaOfFields(output.fields, false));
  return (envelope) => [
    ...(envelope.output === '' && envelope.media === null ? [{ field: 'output', reason: 'invalid_envelope' as const }] : []),
    ...mismatch('kind', kind, envelope.kind),
    ...(output?.artifactKind === undefined ? [] : mismatch('artifactKind', output.artifactKind, envelope.artifactKind)),
    ...(check === undefined ? [] : dataErrors(check, envelope)),
  ];
}

const mismatch = (field: string, expected: string, actual: string): readonly ContractError[] =>
  expected === actual ? [] : [{ field, reason: 'enum_mismatch', details: `is ${actual}; expected ${expected}` }];

const dataErrors = (check: Check, { data }: Envelope): readonly ContractError[] =>
  data === undefined ? [{ field: 'data', reason: 'type_mismatch', details: 'the answer is not JSON' }] : check(data);

const compiled = (schema: JsonObject): Check => {
  const result = compileSchema(schema);
  if ('error' in result) throw new Error(`a validated contract does not compile: ${result.error}`);
  return result.check;
};

/** Field schemas of the lens document as JSON Schema. `isUrl` and `isJson` are custom keywords, because JSON Schema 2020-12 does not assert formats. */
const schemaOfType: Readonly<Record<FieldType, JsonObject>> = {
  string: { type: 'string' },
  number: { type: 'number' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  url: { type: 'string', isUrl: true },
  json: { isJson: true },
  array: { type: 'array' },
  any: {},
};

const copiedKeywords = ['minLength', 'maxLength', 'pattern'] as const;

export const schemaOfField = (field: FieldSchema): JsonObject => ({
  ...schemaOfType[field.type],
  ...Object.fromEntries(
    copiedKeywords.flatMap((key): [string, JsonValue][] => (field[key] === undefined ? [] : [[key, field[key]]])),
  ),
  ...(field.min === undefined ? {} : { minimum: field.min }),
  ...(field.max === undefined ? {} : { maximum: field.max }),
  ...(field.itemType === undefined ? {} : { items: schemaOfType[field.itemType] }),
  ...(field.enum === undefined ? {} : { enum: field.enum.flatMap(scalarsOf) }),
});

/** The scalars that have this text form. */
const scalarsOf = (text: string): readonly JsonValue[] => {
  if (text === 'true' || text === 'false') return [text, text === 'true'];
  const number = Number(text);
  return text !== '' && String(number) === text && Number.isFinite(number) ? [text, number] : [text];
};

const schemaOfFields = (fields: Fields, isStrict: boolean): JsonObject =>
  defined({
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOfField(field)])),
    required: Object.entries(fields).flatMap(([name, { required }]) => (required === true ? [name] : [])),
    additionalProperties: isStrict ? false : undefined,
  });
