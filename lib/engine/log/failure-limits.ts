/**
 * Bounds for the text of a failure. It can come from any source, such as a model's response or an error of the author's code.
 * A failure is part of its commit and of every report of it; unlike a payload it is never offloaded.
 */
import { defined } from '../../base/defined.ts';
import { type JsonObject, type JsonValue, isJsonArray } from '../json.ts';
import type { Outcome } from '../graph/outcome.ts';
import { findOutputError } from '../validate-json.ts';
import type { Failure, Gate } from './events.ts';

/** In UTF-16 units. */
export const failureLimits = {
  message: 2_000,
  code: 128,
  /** of the details, a gate's errors and its decision, each as JSON; the failures of ten results in one commit fit together */
  details: 4_096,
} as const;

/** The failure, shortened to the limits. `omitted` names the detail entries that do not fit. */
export function reportedFailure({ message, code, details, ...rest }: Failure): Failure {
  return defined({
    ...rest,
    message: truncate(message, failureLimits.message),
    code: code === undefined ? undefined : truncate(code, failureLimits.code),
    details: details === undefined ? undefined : boundDetails(details),
  });
}

/** The outcome of an attempt, shortened to what a commit may contain. */
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

/** Small entries go first. An entry that is too long for the remaining space is shortened, or omitted and named. */
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

/** A value that JSON cannot represent, or that is nested too deeply, is omitted like one that is too large. */
const isStorable = (value: JsonValue): boolean => findOutputError(value) === undefined;

/** Two braces and a colon. */
const entryOverhead = 3;

const maxOmittedNames = 4;
const maxOmittedNameLength = 40;
/** JSON may escape each character of a name as six. */
const reservedForOmittedNames = maxOmittedNames * (maxOmittedNameLength * 6 + 3) + 16;

/** Cuts the end of a string or a list that is too long; other values stay as they are. */
function shorten(value: JsonValue, available: number): JsonValue {
  if (typeof value === 'string')
    return sizeOf(value) <= available ? value : truncate(value, Math.max(0, Math.floor(available / 6)));
  return isJsonArray(value) ? takeFitting(value, available) : value;
}

/** The items that fit, in order. */
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

/** Never splits a character. */
const truncate = (text: string, length: number): string => (text.length <= length ? text : text.slice(0, length).toWellFormed());
