/** The arguments that a node gives, held against the parameters of its query. */
import { argumentFits } from '../graph/arguments.ts';
import type { ArgumentDeclaration } from '../graph/definition.ts';
import type { JsonObject, JsonValue } from '../json.ts';

export type ArgumentsVerdict =
  | { readonly kind: 'accepted'; /** every parameter has a value; null where nothing was given */ readonly values: JsonObject }
  | { readonly kind: 'refused'; readonly faults: readonly string[] };

/** A null counts as not given: that is what a look-up finds where nothing is. */
export function acceptArguments(parameters: readonly ArgumentDeclaration[], given: JsonObject): ArgumentsVerdict {
  const faults = [
    ...Object.keys(given)
      .filter((name) => !parameters.some((parameter) => parameter.name === name))
      .map((name) => `the query has no parameter ${name}`),
    ...parameters.flatMap(({ name, type, required, default: preset }) => {
      const value = valueOf(given, name) ?? preset ?? null;
      if (value === null) return required ? [`${name} is required`] : [];
      return argumentFits(type, value) ? [] : [`${name} must be of the type ${type}`];
    }),
  ];
  if (faults.length > 0) return { kind: 'refused', faults };
  return {
    kind: 'accepted',
    values: Object.fromEntries(
      parameters.map(({ name, default: preset }): [string, JsonValue] => [name, valueOf(given, name) ?? preset ?? null]),
    ),
  };
}

const valueOf = (given: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(given, name) ? given[name] : undefined;
