/**
 * The operators of a condition. Every operator is total: a comparison of unsuitable values is false (and its `not_…` is true).
 *
 * - Two values are equal when they are the same JSON value, with keys in any order. Form values are strings, so a number equals its
 *   decimal string (5 equals "5" and " 5.0 "), and true equals "true". Two strings are compared character by character
 *   ("1.0" is not "1"); null equals only null.
 * - Greater and less compare numbers, and strings that are decimal numbers; for other values they are false.
 * - `starts_with` and `ends_with` compare strings; other values use their template text.
 * - A string contains a string, an array contains an element, an object contains a key.
 */
import { RE2JS } from 're2js';
import { containsText, isSameJson } from '../../engine/compare.ts';
import { countedText } from '../../engine/graph/template.ts';
import type { NodeWork } from '../../engine/graph/work-limits.ts';
import { type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';

export type Compare = (left: JsonValue, right: JsonValue, work: NodeWork) => boolean;

export const comparisonNames = [
  'equals',
  'not_equals',
  'contains',
  'not_contains',
  'starts_with',
  'ends_with',
  'greater_than',
  'less_than',
  'greater_or_equal',
  'less_or_equal',
  'is_empty',
  'is_not_empty',
  'matches_regex',
] as const;
export type Comparison = (typeof comparisonNames)[number];

export const comparisons: Readonly<Record<Comparison, Compare>> = {
  equals: areEqual,
  not_equals: (left, right, work) => !areEqual(left, right, work),
  contains,
  not_contains: (left, right, work) => !contains(left, right, work),
  starts_with: (left, right, work) => matchesAffix(left, right, work, (text, part) => text.startsWith(part)),
  ends_with: (left, right, work) => matchesAffix(left, right, work, (text, part) => text.endsWith(part)),
  greater_than: (left, right, work) => asNumber(left, work) > asNumber(right, work),
  less_than: (left, right, work) => asNumber(left, work) < asNumber(right, work),
  greater_or_equal: (left, right, work) => asNumber(left, work) >= asNumber(right, work),
  less_or_equal: (left, right, work) => asNumber(left, work) <= asNumber(right, work),
  is_empty: (left) => isEmpty(left),
  is_not_empty: (left) => !isEmpty(left),
  matches_regex: matchesRegex,
};

/** The template text of a value. A string costs no work. */
const asText = (value: JsonValue, work: NodeWork): string => (typeof value === 'string' ? value : countedText(value, work));

function matchesAffix(
  left: JsonValue,
  right: JsonValue,
  work: NodeWork,
  matches: (text: string, part: string) => boolean,
): boolean {
  const [text, part] = [asText(left, work), asText(right, work)];
  work.addComparisons(part.length);
  return matches(text, part);
}

/** JSON numbers, with surrounding spaces that forms leave. */
const decimal = /^\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*$/;

/** NaN for a value that is not a number; every comparison with NaN is false. */
function asNumber(value: JsonValue, work: NodeWork): number {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return Number.NaN;
  work.addComparisons(value.length);
  return decimal.test(value) ? Number(value) : Number.NaN;
}

function areEqual(left: JsonValue, right: JsonValue, work: NodeWork): boolean {
  if (typeof left === 'number' && typeof right === 'string') return left === asNumber(right, work);
  if (typeof left === 'string' && typeof right === 'number') return areEqual(right, left, work);
  if (typeof left === 'boolean' && typeof right === 'string') return String(left) === right;
  if (typeof left === 'string' && typeof right === 'boolean') return areEqual(right, left, work);
  // Values inside arrays and objects do not come from forms, so their strings are not read as numbers.
  return isSameJson(left, right, work);
}

function contains(left: JsonValue, right: JsonValue, work: NodeWork): boolean {
  if (typeof left === 'string') {
    if (right === null) return false;
    const part = asText(right, work);
    work.addComparisons(left.length);
    return containsText(left, part);
  }
  if (isJsonArray(left)) return left.some((item) => areEqual(item, right, work));
  return isJsonObject(left) && Object.hasOwn(left, asText(right, work));
}

const isEmpty = (value: JsonValue): boolean => value === null || value === '' || (isJsonArray(value) && value.length === 0);

/** In characters. The largest pattern takes about 500 ms for the longest text, a typical pattern 20 ms. */
export const regexLimits = { pattern: 1_000, text: 100_000 } as const;

/**
 * Regular expressions use RE2: matching takes linear time for every pattern, so an author's `(a+)+$` cannot block a commit. Validation
 * rejects look-arounds and back-references, which RE2 does not support.
 *
 * Finds the pattern anywhere in the text, unless it has anchors. An invalid or too long pattern or text does not match.
 */
function matchesRegex(value: JsonValue, pattern: JsonValue, work: NodeWork): boolean {
  const text = typeof value === 'string' ? value : countedText(value, work);
  if (typeof pattern !== 'string' || pattern.length > regexLimits.pattern || text.length > regexLimits.text) return false;
  work.matching(pattern.length * compileStepsPerCharacter);
  const compiled = compileRegex(pattern);
  if (!('regex' in compiled)) return false;
  work.matching(Math.ceil(text.length * (1 + compiled.regex.programSize() / typicalProgramSize)));
  return compiled.regex.test(text);
}

/**
 * Work is counted in steps of 0.1 to 0.5 µs: one per character of text for a typical pattern, more for a larger one. Compiling a
 * pattern costs up to 40 steps per character, for example for a Unicode class.
 */
const typicalProgramSize = 100;
const compileStepsPerCharacter = 40;

export function compileRegex(
  pattern: string,
): { readonly regex: RE2JS } | { readonly code: 'regex_unsupported' | 'config_invalid'; readonly message: string } {
  if (pattern.length > regexLimits.pattern)
    return { code: 'config_invalid', message: `a pattern has at most ${regexLimits.pattern} characters` };
  try {
    return { regex: RE2JS.compile(pattern) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (!isBacktrackingRegex(pattern)) return { code: 'config_invalid', message: reason };
    return { code: 'regex_unsupported', message: `${reason}; look-arounds and back-references are not supported` };
  }
}

/** Whether the pattern is valid for a backtracking engine. It is compiled, but never executed. */
const isBacktrackingRegex = (pattern: string): boolean => {
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
};
