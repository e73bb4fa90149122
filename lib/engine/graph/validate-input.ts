/** Validates the input of a start against the workflow's declared arguments. */
import { type JsonObject, type JsonValue, isJsonObject } from '../json.ts';
import type { ArgumentDeclaration } from './definition.ts';
import { jsonPointer } from './findings.ts';

/** A problem of an input; `pointer` is a JSON pointer into the start's body. */
export interface InputError {
  readonly pointer: string;
  readonly code: 'argument_missing' | 'argument_type' | 'argument_unknown' | 'input_type';
  readonly message: string;
}

export type InputValidation =
  | { readonly kind: 'accepted'; readonly input: JsonValue }
  | { readonly kind: 'refused'; readonly errors: readonly InputError[] };

/**
 * Without declarations any input is accepted unchanged; an absent input is an empty object. With declarations every error is reported
 * at once, undeclared names are rejected, and defaults are filled in.
 */
export const validateInput = (
  declarations: readonly ArgumentDeclaration[] | undefined,
  input: JsonValue | undefined,
): InputValidation => {
  const provided = input ?? {};
  if (declarations === undefined) return { kind: 'accepted', input: provided };
  if (!isJsonObject(provided)) {
    return {
      kind: 'refused',
      errors: [inputError('input_type', 'the workflow declares arguments, so the input must be an object')],
    };
  }
  const errors = [
    ...declarations.flatMap((declared) => errorsOf(declared, provided)),
    ...Object.keys(provided)
      .filter((name) => !declarations.some((declared) => declared.name === name))
      .map((name) => inputError('argument_unknown', `the workflow declares no argument ${name}`, name)),
  ];
  if (errors.length > 0) return { kind: 'refused', errors };
  return { kind: 'accepted', input: { ...defaultValues(declarations), ...provided } satisfies JsonObject };
};

const inputError = (code: InputError['code'], message: string, name?: string): InputError => ({
  pointer: name === undefined ? jsonPointer('input') : jsonPointer('input', name),
  code,
  message,
});

const errorsOf = (
  { name, type, required, default: defaultValue }: ArgumentDeclaration,
  input: JsonObject,
): readonly InputError[] => {
  const value = Object.hasOwn(input, name) ? input[name] : undefined;
  if (value !== undefined) {
    return matchesArgumentType(type, value) ? [] : [inputError('argument_type', `${name} must be of the type ${type}`, name)];
  }
  return required && defaultValue === undefined ? [inputError('argument_missing', `${name} is required`, name)] : [];
};

const defaultValues = (declarations: readonly ArgumentDeclaration[]): JsonObject =>
  Object.fromEntries(
    declarations.flatMap(({ name, default: defaultValue }): (readonly [string, JsonValue])[] =>
      defaultValue === undefined ? [] : [[name, defaultValue]],
    ),
  );

export const matchesArgumentType = (type: ArgumentDeclaration['type'], value: JsonValue): boolean => {
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
