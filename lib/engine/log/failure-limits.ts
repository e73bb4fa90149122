/**
 * How much of a failure is told. Its words can come from anywhere, a model's answer or an error of the author's code among
 * them, and it is a part of its commit and of whatever else tells of it: unlike a value it is never stored apart.
 */
import { type JsonObject, type JsonValue, isJsonArray } from '../json.ts';
import type { Outcome } from '../graph/outcome.ts';
import { faultInOutput } from '../tree.ts';
import type { Failure, Gate } from './events.ts';

/** In UTF-16 units. */
export const failureLimits = {
  message: 2_000,
  code: 128,
  /** of the details, of a gate's errors and of its decision, each as JSON: of ten results in one commit all fit it */
  details: 4_096,
} as const;

/** The same where it is small enough. Entries of its details that do not fit are named, and left out. */
export function toldFailure({ message, code, details, ...rest }: Failure): Failure {
  return {
    ...rest,
    message: cut(message, failureLimits.message),
    ...(code === undefined ? {} : { code: cut(code, failureLimits.code) }),
    ...(details === undefined ? {} : { details: told(details) }),
  };
}

/** What an attempt came to, as it may stand in a commit. */
export const toldOutcome = (outcome: Outcome): Outcome =>
  outcome.kind !== 'failed'
    ? outcome
    : {
        ...outcome,
        failure: toldFailure(outcome.failure),
        ...(outcome.gate === undefined ? {} : { gate: toldGate(outcome.gate) }),
      };

export const toldGate = (gate: Gate): Gate =>
  gate.kind === 'contract' ? { ...gate, errors: fitting(gate.errors) } : { ...gate, decision: told(gate.decision) };

/** The small ones have the room first. Whatever is too long for what is left of it is shortened, or left out and named. */
function told(details: JsonObject): JsonObject {
  const sound = Object.entries(details).filter(([, value]) => isSound(value));
  if (sound.length === Object.keys(details).length && sizeOf(details) <= failureLimits.details) return details;
  const bySize = sound.toSorted(([, one], [, other]) => sizeOf(one) - sizeOf(other));
  const kept = new Map<string, JsonValue>();
  let room = failureLimits.details - roomForNames;
  for (const [key, value] of bySize) {
    const small = shortened(value, room - sizeOf(key) - roundAnEntry);
    const size = sizeOf({ [key]: small });
    if (size > room) continue;
    kept.set(key, small);
    room -= size;
  }
  const keys = Object.keys(details);
  const leftOut = keys.filter((key) => !kept.has(key)).map((key) => cut(key, longestName));
  const all = keys.flatMap((key): [string, JsonValue][] => {
    const value = kept.get(key);
    return value === undefined ? [] : [[key, value]];
  });
  return { ...Object.fromEntries(all), ...(leftOut.length === 0 ? {} : { leftOut: leftOut.slice(0, mostNames) }) };
}

/** What cannot be written as JSON, or only by more recursion than a small stack has, is left out like what is too large. */
const isSound = (value: JsonValue): boolean => faultInOutput(value) === undefined;

/** Two braces and a colon. */
const roundAnEntry = 3;

const mostNames = 4;
const longestName = 40;
/** Each of a name's characters may be written as six. */
const roomForNames = mostNames * (longestName * 6 + 3) + 16;

/** A list or a text that is too long loses its end; anything else is as it is. */
function shortened(value: JsonValue, room: number): JsonValue {
  if (typeof value === 'string') return sizeOf(value) <= room ? value : cut(value, Math.max(0, Math.floor(room / 6)));
  return isJsonArray(value) ? fitting(value, room) : value;
}

/** Those that fit, in their order. */
function fitting<Item extends JsonValue>(items: readonly Item[], room: number = failureLimits.details): readonly Item[] {
  let left = room - 2;
  return items.filter((item) => {
    if (!isSound(item)) return false;
    const size = sizeOf(item) + 1;
    if (size > left) return false;
    left -= size;
    return true;
  });
}

const sizeOf = (value: JsonValue): number => JSON.stringify(value).length;

/** Never in the middle of a character. */
const cut = (text: string, length: number): string => (text.length <= length ? text : text.slice(0, length).toWellFormed());
