/** Optional properties: `defined({ a, b })` instead of `{ a, ...(b === undefined ? {} : { b }) }`. */

/** The properties that may be undefined become optional; the others keep their types. */
export type Defined<Value> = {
  readonly [Key in keyof Value as undefined extends Value[Key] ? never : Key]: Value[Key];
} & { readonly [Key in keyof Value as undefined extends Value[Key] ? Key : never]?: Exclude<Value[Key], undefined> };

/** Copies the object without undefined properties, because types and JSON comparisons distinguish them from absent ones. */
export function defined<const Value extends object>(value: Value): Defined<Value>;
export function defined(value: Readonly<Record<string, unknown>>): object {
  const copy: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) if (each !== undefined) copy[key] = each;
  return copy;
}
