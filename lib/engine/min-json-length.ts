/** Lower bounds of JSON sizes, computed without making the text. */
import { type JsonValue, isJsonArray, isJsonObject } from './json.ts';

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
