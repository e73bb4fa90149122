/** Optional properties: `defined({ a, b })` instead of `{ a, ...(b === undefined ? {} : { b }) }`. */

/** The properties that may be undefined become optional; the others keep their types. */
export type Defined<Value> = {
  readonly [Key in keyof Value as undefined extends Value[Key] ? never : Key]: Value[Key];
} & { readonly [Key in keyof Value as undefined extends Value[Key] ? Key : never]?: Exclude<Value[Key], undefined> };

/**
 * A copy without the properties whose value is undefined. `exactOptionalPropertyTypes` and JSON comparisons tell an absent property from
 * an undefined one.
 */
export function defined<const Value extends object>(value: Value): Defined<Value>;
export function defined(value: Readonly<Record<string, unknown>>): object {
  const copy: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) if (each !== undefined) copy[key] = each;
  return copy;
}
