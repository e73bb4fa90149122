/** Comparisons of values, each linear in what it looks at, whatever an author compares. */
import { type JsonValue, isJsonArray, isJsonObject } from './json.ts';

/** Counts how much a comparison looks at, before it does: characters of texts, items and keys. It may throw to end the comparison. */
export interface Counter {
  looking(parts: number): void;
}
export const uncounted: Counter = { looking: () => {} };

/** The same JSON, whatever the order of keys. */
export function isSameJson(one: JsonValue, other: JsonValue | undefined, counter: Counter = uncounted): boolean {
  counter.looking(typeof one === 'string' && typeof other === 'string' && one.length === other.length ? one.length + 1 : 1);
  if (one === other) return true;
  if (isJsonArray(one) && isJsonArray(other))
    return one.length === other.length && one.every((item, at) => isSameJson(item, other[at], counter));
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  const keys = Object.keys(one);
  counter.looking(keys.length);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key] ?? null, other[key], counter))
  );
}

/**
 * Whether a text stands in another one. `includes` takes the product of their lengths where the part differs in its middle from
 * what repeats around it: 13 s for 100,000 characters in a million. So what is long is looked for by Knuth, Morris and Pratt.
 */
export function holdsText(text: string, part: string): boolean {
  if (part.length <= longestForIncludes || part.length > text.length) return text.includes(part);
  const borders = bordersOf(part);
  let held = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (held > 0 && unit !== part.charCodeAt(held)) held = borders[held - 1] ?? 0;
    if (unit === part.charCodeAt(held)) held += 1;
    if (held === part.length) return true;
  }
  return false;
}

const longestForIncludes = 64;

/** For each beginning of the text: how long the longest shorter one is that it ends with. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length);
  let held = 0;
  for (let at = 1; at < part.length; at += 1) {
    while (held > 0 && part.charCodeAt(at) !== part.charCodeAt(held)) held = borders[held - 1] ?? 0;
    if (part.charCodeAt(at) === part.charCodeAt(held)) held += 1;
    borders[at] = held;
  }
  return borders;
}
