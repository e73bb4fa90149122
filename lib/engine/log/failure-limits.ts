/**
 * How much of a failure is told. Its words can come from anywhere, a model's answer or an error of the author's code among
 * them, and it is a part of its commit and of whatever else tells of it: unlike a value it is never stored apart.
 */
import { defined } from '../defined.ts';
import { type JsonObject, type JsonValue, isJsonArray } from '../json.ts';
import type { Outcome } from '../graph/outcome.ts';
import { findOutputError } from '../validate-json.ts';
import type { Failure, Gate } from './events.ts';

/** In UTF-16 units. */
export const failureLimits = {
  message: 2_000,
  code: 128,
  /** of the details, of a gate's errors and of its decision, each as JSON: of ten results in one commit all fit it */
  details: 4_096,
} as const;

/** The same where it is small enough. Entries of its details that do not fit are named, and left out. */
export function reportedFailure({ message, code, details, ...rest }: Failure): Failure {
  return defined({
    ...rest,
    message: truncate(message, failureLimits.message),
    code: code === undefined ? undefined : truncate(code, failureLimits.code),
    details: details === undefined ? undefined : boundDetails(details),
  });
}

/** What an attempt came to, as it may stand in a commit. */
export const reportedOutcome = (outcome: Outcome): Outcome =>
  outcome.kind !== 'failed'
    ? outcome
    : {
        ...outcome,
        failure: reportedFailure(outcome.failure),
        ...(outcome.gate === undefined ? {} : { gate: reportedGate(outcome.gate) }),
      };

export const reportedGate = (gate: Gate): Gate =>
  gate.kind === 'contract' ? { ...gate, errors: takeFitting(gate.errors) } : { ...gate, decision: boundDetails(gate.decision) };

/** The small ones have the room first. Whatever is too long for what is left of it is shortened, or left out and named. */
function boundDetails(details: JsonObject): JsonObject {
  const storable = Object.entries(details).filter(([, value]) => isStorable(value));
  if (storable.length === Object.keys(details).length && sizeOf(details) <= failureLimits.details) return details;
  const bySize = storable.toSorted(([, one], [, other]) => sizeOf(one) - sizeOf(other));
  const included = new Map<string, JsonValue>();
  let available = failureLimits.details - reservedForOmittedNames;
  for (const [key, value] of bySize) {
    const shortenedValue = shorten(value, available - sizeOf(key) - entryOverhead);
    const entrySize = sizeOf({ [key]: shortenedValue });
    if (entrySize > available) continue;
    included.set(key, shortenedValue);
    available -= entrySize;
  }
  const keys = Object.keys(details);
  const omitted = keys.filter((key) => !included.has(key)).map((key) => truncate(key, maxOmittedNameLength));
  const all = keys.flatMap((key): [string, JsonValue][] => {
    const value = included.get(key);
    return value === undefined ? [] : [[key, value]];
  });
  return { ...Object.fromEntries(all), ...(omitted.length === 0 ? {} : { omitted: omitted.slice(0, maxOmittedNames) }) };
}

/** What cannot be written as JSON, or only by more recursion than a small stack has, is left out like what is too large. */
const isStorable = (value: JsonValue): boolean => findOutputError(value) === undefined;

/** Two braces and a colon. */
const entryOverhead = 3;

const maxOmittedNames = 4;
const maxOmittedNameLength = 40;
/** Each of a name's characters may be written as six. */
const reservedForOmittedNames = maxOmittedNames * (maxOmittedNameLength * 6 + 3) + 16;

/** A list or a text that is too long loses its end; anything else is as it is. */
function shorten(value: JsonValue, available: number): JsonValue {
  if (typeof value === 'string')
    return sizeOf(value) <= available ? value : truncate(value, Math.max(0, Math.floor(available / 6)));
  return isJsonArray(value) ? takeFitting(value, available) : value;
}

/** Those that fit, in their order. */
function takeFitting<Item extends JsonValue>(items: readonly Item[], available: number = failureLimits.details): readonly Item[] {
  let remaining = available - 2;
  return items.filter((item) => {
    if (!isStorable(item)) return false;
    const entrySize = sizeOf(item) + 1;
    if (entrySize > remaining) return false;
    remaining -= entrySize;
    return true;
  });
}

const sizeOf = (value: JsonValue): number => JSON.stringify(value).length;

/** Never in the middle of a character. */
const truncate = (text: string, length: number): string => (text.length <= length ? text : text.slice(0, length).toWellFormed());
