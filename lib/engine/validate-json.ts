/**
 * Which values can be stored: of bounded depth, and meaning as JSON what they mean in memory. One rule for all that enters a
 * run, whoever made it. It looks without recursion, because the depth that ends a stack is among what it looks for; whatever
 * walks a value later may recurse.
 */

export const jsonLimits = {
  /** of arrays and objects within each other: more than any definition or input has, and far from the end of a small stack */
  levels: 100,
} as const;

export interface JsonError {
  readonly code: 'too_deep' | 'not_finite' | 'not_unicode' | 'key_refused';
  /** what is wrong with the value, for the reader: it follows the name of the value */
  readonly message: string;
  /** where, from the outside in */
  readonly path: readonly (string | number)[];
}

/**
 * What no body of a request may hold, or undefined. `1e999` parses to Infinity, half a character is no Unicode, and `__proto__`
 * as a key means something else to code that copies objects.
 */
export const findBodyError = (root: unknown, maxLevels: number = jsonLimits.levels): JsonError | undefined =>
  search(root, maxLevels, (value) => checkFinite(value) ?? checkUnicode(value), checkKeyName);

/** What no output of a node may hold, wherever it comes from: another service may have keys and texts of all kinds. */
export const findOutputError = (root: unknown, maxLevels: number = jsonLimits.levels): JsonError | undefined =>
  search(root, maxLevels, checkFinite, () => undefined);

type ValueError = Omit<JsonError, 'path'>;

const checkFinite = (value: unknown): ValueError | undefined =>
  typeof value === 'number' && !Number.isFinite(value)
    ? { code: 'not_finite', message: 'holds a number that JSON cannot have' }
    : undefined;

const checkUnicode = (value: unknown): ValueError | undefined =>
  typeof value === 'string' && !value.isWellFormed()
    ? { code: 'not_unicode', message: 'holds a text with half a character' }
    : undefined;

const checkKeyName = (key: string): ValueError | undefined =>
  key === '__proto__' || !key.isWellFormed()
    ? { code: 'key_refused', message: `holds a key that cannot be stored, ${JSON.stringify(key.slice(0, 40))}` }
    : undefined;

/** An array or an object that is being looked through. There are never more of them than levels: a value may be far wider than deep. */
interface OpenContainer {
  readonly value: object;
  /** of an object; an array has its places */
  readonly keys: readonly string[] | undefined;
  next: number;
}

function search(
  root: unknown,
  maxLevels: number,
  checkValue: (value: unknown) => ValueError | undefined,
  checkKey: (key: string) => ValueError | undefined,
): JsonError | undefined {
  const open: OpenContainer[] = [];
  const path: (string | number)[] = [];
  const visit = (value: unknown): ValueError | undefined => {
    if (path.length > maxLevels) return { code: 'too_deep', message: `is nested more than ${maxLevels} levels deep` };
    if (typeof value !== 'object' || value === null) return checkValue(value);
    open.push({ value, keys: Array.isArray(value) ? undefined : Object.keys(value), next: 0 });
    return undefined;
  };
  let error = visit(root);
  for (let top = open.at(-1); top !== undefined && error === undefined; top = open.at(-1)) {
    path.length = open.length - 1;
    const { value, keys, next } = top;
    const key = keys === undefined ? next : keys[next];
    if (key === undefined || (Array.isArray(value) && next >= value.length)) {
      open.pop();
      continue;
    }
    top.next += 1;
    error = typeof key === 'string' ? checkKey(key) : undefined;
    if (error !== undefined) break;
    path.push(key);
    error = visit(Reflect.get(value, key));
  }
  return error === undefined ? undefined : { ...error, path };
}
