/** Copies for stores in memory. A store returns frozen copies, as if it had written and read the value. */

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** A deeply frozen copy of plain data. Undefined properties are omitted, as in JSON. */
export const frozenCopy = <Value>(value: Value): Value => frozenValue(value) as Value;

/** Copies made here. They need no second copy. */
const frozenCopies = new WeakSet<object>();

const frozenValue = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || frozenCopies.has(value)) return value;
  if (!Array.isArray(value) && !isPlain(value)) throw new TypeError('only plain data can be stored');
  const copy = Object.freeze(Array.isArray(value) ? value.map(frozenValue) : frozenParts(value));
  frozenCopies.add(copy);
  return copy;
};

const frozenParts = (value: object): object => {
  const copy: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(value)) {
    if (part === undefined) continue;
    // An assignment to `__proto__` would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: frozenValue(part), enumerable: true });
    else copy[key] = frozenValue(part);
  }
  return copy;
};
