/** The arguments a start brings, held against what the workflow declares. */
import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';
import type { ArgumentDeclaration } from './definition.ts';
import { pointer } from './findings.ts';

/** One thing wrong with an input; the place is a JSON pointer into the start's body. */
export interface InputFault {
  readonly place: string;
  readonly code: 'argument_missing' | 'argument_type' | 'argument_unknown' | 'input_type';
  readonly message: string;
}

export type InputVerdict =
  | { readonly kind: 'accepted'; readonly input: JsonValue }
  | { readonly kind: 'refused'; readonly faults: readonly InputFault[] };

/**
 * Without declarations anything is taken as it is; an absent input is an empty object. With declarations every fault is
 * reported at once, names that are not declared are refused, and defaults are filled in.
 */
export const acceptInput = (
  declarations: readonly ArgumentDeclaration[] | undefined,
  input: JsonValue | undefined,
): InputVerdict => {
  const given = input ?? {};
  if (declarations === undefined) return { kind: 'accepted', input: given };
  if (!isJsonObject(given)) {
    return { kind: 'refused', faults: [fault('input_type', 'the workflow declares arguments, so the input must be an object')] };
  }
  const faults = [
    ...declarations.flatMap((declared) => faultsOf(declared, given)),
    ...Object.keys(given)
      .filter((name) => !declarations.some((declared) => declared.name === name))
      .map((name) => fault('argument_unknown', `the workflow declares no argument ${name}`, name)),
  ];
  if (faults.length > 0) return { kind: 'refused', faults };
  return { kind: 'accepted', input: { ...presets(declarations), ...given } satisfies JsonObject };
};

const fault = (code: InputFault['code'], message: string, name?: string): InputFault => ({
  place: name === undefined ? pointer('input') : pointer('input', name),
  code,
  message,
});

const faultsOf = ({ name, type, required, default: preset }: ArgumentDeclaration, input: JsonObject): readonly InputFault[] => {
  const value = Object.hasOwn(input, name) ? input[name] : undefined;
  if (value !== undefined) {
    return argumentFits(type, value) ? [] : [fault('argument_type', `${name} must be of the type ${type}`, name)];
  }
  return required && preset === undefined ? [fault('argument_missing', `${name} is required`, name)] : [];
};

const presets = (declarations: readonly ArgumentDeclaration[]): JsonObject =>
  Object.fromEntries(
    declarations.flatMap(({ name, default: preset }): (readonly [string, JsonValue])[] =>
      preset === undefined ? [] : [[name, preset]],
    ),
  );

export const argumentFits = (type: ArgumentDeclaration['type'], value: JsonValue): boolean => {
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    case 'object':
      return isJsonObject(value);
    case 'array':
      return Array.isArray(value);
  }
};
