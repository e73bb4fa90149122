/** The arguments of a stored query: their validation, and their places in the path of an HTTP query. */
import type { ArgumentDeclaration } from '../graph/definition.ts';
import { matchesArgumentType } from '../graph/validate-input.ts';
import type { JsonObject, JsonValue } from '../json.ts';

export type ArgumentsValidation =
  | { readonly kind: 'accepted'; /** every parameter has a value; null if none was given */ readonly values: JsonObject }
  | { readonly kind: 'refused'; readonly errors: readonly string[] };

/** A null counts as not given, because a template lookup returns null for missing values. */
export function validateArguments(parameters: readonly ArgumentDeclaration[], provided: JsonObject): ArgumentsValidation {
  const errors = [
    ...Object.keys(provided)
      .filter((name) => !parameters.some((parameter) => parameter.name === name))
      .map((name) => `the query has no parameter ${name}`),
    ...parameters.flatMap(({ name, type, required, default: defaultValue }) => {
      const value = valueOf(provided, name) ?? defaultValue ?? null;
      if (value === null) return required ? [`${name} is required`] : [];
      return matchesArgumentType(type, value) ? [] : [`${name} must be of the type ${type}`];
    }),
  ];
  if (errors.length > 0) return { kind: 'refused', errors };
  return {
    kind: 'accepted',
    values: Object.fromEntries(
      parameters.map(({ name, default: defaultValue }): [string, JsonValue] => [
        name,
        valueOf(provided, name) ?? defaultValue ?? null,
      ]),
    ),
  };
}

const valueOf = (provided: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(provided, name) ? provided[name] : undefined;

/** Names of the arguments in the path, with repetitions. */
export const argumentNamesIn = (path: string): readonly string[] =>
  path.split('/').flatMap((step) => {
    const [, name] = /^:([A-Za-z_]\w*)$/.exec(step) ?? [];
    return name === undefined ? [] : [name];
  });

/** Undefined if an argument is empty, `.` or `..`, which would change the path. */
export function fillPath(path: string, textOf: (name: string) => string): string | undefined {
  const steps = path.split('/').map((step) => {
    const [name] = argumentNamesIn(step);
    if (name === undefined) return step;
    const text = textOf(name);
    return ['', '.', '..'].includes(text) ? undefined : encodeURIComponent(text.toWellFormed());
  });
  return steps.includes(undefined) ? undefined : steps.join('/');
}
