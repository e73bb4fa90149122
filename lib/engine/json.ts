/** JSON values: everything that can be stored and sent. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export const isJsonObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isJsonArray = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

/** One step into a value: an object's own key, or an array index in digits. Undefined if there is nothing. */
export function childAt(value: JsonValue | undefined, key: string | number): JsonValue | undefined {
  if (isJsonArray(value)) return /^\d+$/.test(String(key)) ? value[Number(key)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/**
 * A value in the log: inline, or offloaded and named by a reference.
 * `bytes` is the length of its JSON text in UTF-8.
 */
export type Payload = { readonly value: JsonValue } | { readonly ref: PayloadRef; readonly bytes: number };

/** `item:<name>` is an item of the run, `blob:<key>` an object in the bucket. */
export type PayloadRef = `item:${string}` | `blob:${string}`;

export const inline = (value: JsonValue): Payload => ({ value });

/**
 * Minimum length of a value's JSON in characters. An escaped character counts as one. Counting stops beyond `limit`.
 */
export function minJsonLength(root: JsonValue, limit: number): number {
  let length = 0;
  const stack: (readonly JsonValue[])[] = [[root]];
  const cursors: number[] = [0];
  while (stack.length > 0 && length <= limit) {
    const values = stack.at(-1) ?? [];
    const cursor = cursors.at(-1) ?? 0;
    const value = values[cursor];
    if (value === undefined) {
      stack.pop();
      cursors.pop();
      continue;
    }
    cursors[cursors.length - 1] = cursor + 1;
    length += 1;
    if (typeof value === 'string') length += value.length + 1;
    else if (typeof value !== 'object' || value === null) length += String(value).length - 1;
    else if (isJsonArray(value)) {
      stack.push(value);
      cursors.push(0);
    } else if (isJsonObject(value)) {
      for (const key of Object.keys(value)) length += key.length + 3;
      stack.push(Object.values(value));
      cursors.push(0);
    }
  }
  return length;
}
