/** Sizes that are known before a text is made. */
import { type JsonValue, isJsonArray, isJsonObject } from './json.ts';

/**
 * How long the JSON of a value is at least, in characters, without making it: escapes count as what they escape. Beyond
 * `enough` it stops counting.
 */
export function leastLengthOf(root: JsonValue, enough: number): number {
  let length = 0;
  const open: (readonly JsonValue[])[] = [[root]];
  const places: number[] = [0];
  while (open.length > 0 && length <= enough) {
    const values = open.at(-1) ?? [];
    const at = places.at(-1) ?? 0;
    const value = values[at];
    if (value === undefined) {
      open.pop();
      places.pop();
      continue;
    }
    places[places.length - 1] = at + 1;
    length += 1;
    if (typeof value === 'string') length += value.length + 1;
    else if (typeof value !== 'object' || value === null) length += String(value).length - 1;
    else if (isJsonArray(value)) {
      open.push(value);
      places.push(0);
    } else if (isJsonObject(value)) {
      for (const key of Object.keys(value)) length += key.length + 3;
      open.push(Object.values(value));
      places.push(0);
    }
  }
  return length;
}
