/** Values that are created at their first use. */

/** Creates the value at the first call and returns the same one afterwards. A call that throws creates nothing. */
export const once = <Made>(make: () => Made): (() => Made) => {
  let made: { readonly value: Made } | undefined;
  return () => (made ??= { value: make() }).value;
};

/** A function for each property, which creates its value. */
export type Makers<Values extends object> = { readonly [Name in keyof Values]: () => Values[Name] };

/** An object that creates each property at its first access. A copy by spread creates all of them. */
export function lazyProperties<Values extends object>(makers: Makers<Values>): Values;
export function lazyProperties(makers: Readonly<Record<string, () => unknown>>): object {
  const values = {};
  for (const [name, make] of Object.entries(makers)) Object.defineProperty(values, name, { get: once(make), enumerable: true });
  return values;
}

/** The same object with some properties replaced. The others stay lazy: a copy would make all of them. */
export const replacing = <Values extends object>(values: Values, replaced: Partial<Values>): Values =>
  new Proxy(values, {
    get: (target, name): unknown => Reflect.get(Object.hasOwn(replaced, name) ? replaced : target, name),
  });
