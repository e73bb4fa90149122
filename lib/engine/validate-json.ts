/**
 * Checks that a value can be stored: bounded depth, and the same meaning as JSON as in memory. It applies to everything that enters a
 * run. The check itself does not recurse, because it looks for the depth that overflows a stack; later code may recurse.
 */

export const jsonLimits = {
  /** nested arrays and objects: more than any real definition or input has, and far below the limit of a small stack */
  levels: 100,
} as const;

export interface JsonError {
  readonly code: 'too_deep' | 'not_finite' | 'not_unicode' | 'key_refused';
  /** the problem, as the end of a sentence that begins with the value's name */
  readonly message: string;
  /** path to the value, outermost step first */
  readonly path: readonly (string | number)[];
}

/**
 * The first value that a request body may not contain. `1e999` parses to Infinity, a lone surrogate is not Unicode, and the key
 * `__proto__` has a special meaning in code that copies objects.
 */
export const findBodyError = (root: unknown, maxLevels: number = jsonLimits.levels): JsonError | undefined =>
  search(root, maxLevels, (value) => checkFinite(value) ?? checkUnicode(value), checkKeyName);

/** The first value that a node's output may not contain. Outputs of other services may have any keys and texts. */
export const findOutputError = (root: unknown, maxLevels: number = jsonLimits.levels): JsonError | undefined =>
  search(root, maxLevels, checkFinite, () => undefined);

type ValueError = Omit<JsonError, 'path'>;

const checkFinite = (value: unknown): ValueError | undefined =>
  typeof value === 'number' && !Number.isFinite(value)
    ? { code: 'not_finite', message: 'contains a number that JSON cannot represent' }
    : undefined;

const checkUnicode = (value: unknown): ValueError | undefined =>
  typeof value === 'string' && !value.isWellFormed()
    ? { code: 'not_unicode', message: 'contains a text with a lone surrogate' }
    : undefined;

const checkKeyName = (key: string): ValueError | undefined =>
  key === '__proto__' || !key.isWellFormed()
    ? { code: 'key_refused', message: `contains a key that cannot be stored, ${JSON.stringify(key.slice(0, 40))}` }
    : undefined;

/** An array or object on the path to the current value; their number is the depth. */
interface OpenContainer {
  readonly value: object;
  /** undefined for an array */
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
