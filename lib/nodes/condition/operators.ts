/**
 * What the operators of a condition mean. Every operator is total: where a comparison makes no sense the answer is no
 * (and `not_…` of it yes).
 *
 * - Two values are equal when they are the same JSON value, keys in any order. Values typed into a form are text, so a
 *   number equals a text that is its decimal form (5 and "5", " 5.0 "), and true equals "true". Two texts are equal
 *   only letter by letter ("1.0" is not "1"); null equals null alone.
 * - Greater and less compare numbers, and texts that are decimal numbers; anything else is neither.
 * - Begins and ends compare texts; other values read as they do inside a template.
 * - A text contains a text, an array an element, an object a key.
 */
import { textIn } from '../../engine/graph/template.ts';
import type { NodeWork } from '../../engine/graph/work.ts';
import { type JsonValue, isJsonObject } from '../../engine/json.ts';
import { matchesRegex } from './regex.ts';

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
  equals: (left, right) => areEqual(left, right),
  not_equals: (left, right) => !areEqual(left, right),
  contains: (left, right, work) => contains(left, right, work),
  not_contains: (left, right, work) => !contains(left, right, work),
  starts_with: (left, right, work) => spelled(left, work).startsWith(spelled(right, work)),
  ends_with: (left, right, work) => spelled(left, work).endsWith(spelled(right, work)),
  greater_than: (left, right) => asNumber(left) > asNumber(right),
  less_than: (left, right) => asNumber(left) < asNumber(right),
  greater_or_equal: (left, right) => asNumber(left) >= asNumber(right),
  less_or_equal: (left, right) => asNumber(left) <= asNumber(right),
  is_empty: (left) => isEmpty(left),
  is_not_empty: (left) => !isEmpty(left),
  matches_regex: (left, right, work) => matchesRegex(left, right, work),
};

/** As it reads inside a template. A text is itself, and takes nothing. */
const spelled = (value: JsonValue, work: NodeWork): string => (typeof value === 'string' ? value : textIn(value, work));

/** JSON's numbers, with space around them as forms leave it. */
const decimal = /^\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*$/;

/** NaN, which compares with nothing, where the value is no number. */
const asNumber = (value: JsonValue): number => {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && decimal.test(value) ? Number(value) : Number.NaN;
};

function areEqual(left: JsonValue, right: JsonValue): boolean {
  if (typeof left === 'number' && typeof right === 'string') return left === asNumber(right);
  if (typeof left === 'string' && typeof right === 'number') return areEqual(right, left);
  if (typeof left === 'boolean' && typeof right === 'string') return String(left) === right;
  if (typeof left === 'string' && typeof right === 'boolean') return areEqual(right, left);
  return isSame(left, right);
}

/** The same JSON value. Inside arrays and objects nothing was typed into a form, so nothing is read as a number there. */
function isSame(left: JsonValue, right: JsonValue | undefined): boolean {
  if (left === right) return true;
  if (isArray(left) && isArray(right))
    return left.length === right.length && left.every((item, index) => isSame(item, right[index]));
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isSame(left[key] ?? null, right[key]))
  );
}

function contains(left: JsonValue, right: JsonValue, work: NodeWork): boolean {
  if (typeof left === 'string') return right !== null && left.includes(spelled(right, work));
  if (isArray(left)) return left.some((item) => areEqual(item, right));
  return isJsonObject(left) && Object.hasOwn(left, spelled(right, work));
}

const isEmpty = (value: JsonValue): boolean => value === null || value === '' || (isArray(value) && value.length === 0);

const isArray = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);
