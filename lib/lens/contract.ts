/** Contracts made ready to check: what goes into a lens, and what comes out of it. */
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Fields, InputContract, LensVersion } from '../ports/lenses.ts';
import { type Check, type ContractError, compileSchema } from './check.ts';
import type { Envelope } from './envelope.ts';
import { schemaOfFields } from './field-schema.ts';
import { type Placeholder, labelKey } from './placeholders.ts';

/** Inputs as a node got them, by the author's own labels. */
export type InputCheck = (inputs: JsonObject) => readonly ContractError[];

/** @throws Error where the contract does not compile: one that was stored does */
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

/** What typed placeholders ask for, where the contract says nothing about them. */
function typedFields(contract: InputContract | undefined, placeholders: readonly Placeholder[]): Fields {
  const declared = new Set(contract !== undefined && 'fields' in contract ? Object.keys(contract.fields).map(labelKey) : []);
  return Object.fromEntries(
    placeholders.flatMap(({ key, label, type }) => (type === undefined || declared.has(key) ? [] : [[label, { type }]])),
  );
}

/** Labels are compared without case and spaces, and told as the contract spells them. */
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

/** An empty text and null count as absent. */
const present = (entries: readonly [string, JsonValue][]): JsonObject =>
  Object.fromEntries(entries.filter(([, value]) => value !== '' && value !== null));

const missingOf = (group: readonly string[], given: JsonObject): readonly ContractError[] =>
  group.some((label) => Object.hasOwn(given, labelKey(label)))
    ? []
    : [{ field: group.join('|'), reason: 'missing_required', details: 'one of them must be there' }];

/** Is a label of that key one that the contract declares and does not require? */
export const optionalBy = (contract: InputContract | undefined): ((key: string) => boolean) => {
  if (contract === undefined || !('fields' in contract)) return () => false;
  const optional = new Set(
    Object.entries(contract.fields).flatMap(([label, { required }]) => (required === true ? [] : [labelKey(label)])),
  );
  return (key) => optional.has(key);
};

export type OutputCheck = (envelope: Envelope) => readonly ContractError[];

/** Never strict: more than was declared is allowed. */
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
  expected === actual ? [] : [{ field, reason: 'enum_mismatch', details: `is ${actual}, and not ${expected}` }];

const dataErrors = (check: Check, { data }: Envelope): readonly ContractError[] =>
  data === undefined ? [{ field: 'data', reason: 'type_mismatch', details: 'the answer is not JSON' }] : check(data);

const compiled = (schema: JsonObject): Check => {
  const result = compileSchema(schema);
  if ('error' in result) throw new Error(`a contract that was judged does not compile: ${result.error}`);
  return result.check;
};
