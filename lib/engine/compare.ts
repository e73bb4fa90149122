/** Comparisons of JSON values and texts, each in linear time. */
import { type JsonValue, isJsonArray, isJsonObject } from './json.ts';

/** Counts text characters, items and keys before a comparison reads them. It may throw to stop the comparison. */
export interface Counter {
  addComparisons(parts: number): void;
}
export const noCounter: Counter = { addComparisons: () => {} };

/** Equality of JSON values; the order of keys does not matter. */
export function isSameJson(one: JsonValue, other: JsonValue | undefined, counter: Counter = noCounter): boolean {
  counter.addComparisons(
    typeof one === 'string' && typeof other === 'string' && one.length === other.length ? one.length + 1 : 1,
  );
  if (one === other) return true;
  if (isJsonArray(one) && isJsonArray(other))
    return one.length === other.length && one.every((item, at) => isSameJson(item, other[at], counter));
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  const keys = Object.keys(one);
  counter.addComparisons(keys.length);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key] ?? null, other[key], counter))
  );
}

/**
 * Whether a text contains another one. `includes` takes quadratic time on repetitive texts: 13 s for 100,000 characters in a million.
 * So longer parts are searched with the Knuth–Morris–Pratt algorithm.
 */
export function containsText(text: string, part: string): boolean {
  if (part.length <= maxLengthForIncludes || part.length > text.length) return text.includes(part);
  const borders = bordersOf(part);
  let matchedLength = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (matchedLength > 0 && unit !== part.charCodeAt(matchedLength)) matchedLength = borders[matchedLength - 1] ?? 0;
    if (unit === part.charCodeAt(matchedLength)) matchedLength += 1;
    if (matchedLength === part.length) return true;
  }
  return false;
}

const maxLengthForIncludes = 64;

/** For each prefix of the part: the length of its longest border, a shorter prefix that it ends with. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length);
  let matchedLength = 0;
  for (let at = 1; at < part.length; at += 1) {
    while (matchedLength > 0 && part.charCodeAt(at) !== part.charCodeAt(matchedLength))
      matchedLength = borders[matchedLength - 1] ?? 0;
    if (part.charCodeAt(at) === part.charCodeAt(matchedLength)) matchedLength += 1;
    borders[at] = matchedLength;
  }
  return borders;
}
