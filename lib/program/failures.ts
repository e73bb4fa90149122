/** What the author's code throws, as a record; and the error that is made from the record. */
import { isJsonObject, type JsonObject, type JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { toldFailure } from '../engine/log/failure-limits.ts';
import { failureCauses } from '../engine/retry/causes.ts';
import { messageOf, wordsOf } from '../engine/words-of.ts';
import { NonRetryableError, StepError } from '../sdk/errors.ts';
import { storedValue } from './stored-value.ts';

const most = { name: 128, stack: 1_000, frames: 5 } as const;

/** Of anything that can be thrown; never throws itself. */
export function failureOf(thrown: unknown): Failure {
  try {
    return toldFailure(recordOf(thrown));
  } catch {
    return { cause: 'error', message: 'the code threw something that cannot be read' };
  }
}

function recordOf(thrown: unknown): Failure {
  if (thrown instanceof StepError) return ofStep(thrown);
  if (thrown instanceof Error || isErrorLike(thrown)) return ofError(thrown);
  return { cause: 'error', code: 'thrown_value', message: `the code threw ${spelled(thrown)}, which is no Error` };
}

interface ErrorLike {
  readonly name?: unknown;
  readonly message: unknown;
  readonly stack?: unknown;
}

/** Of another realm, or of a library that has its own. */
const isErrorLike = (thrown: unknown): thrown is ErrorLike & { readonly message: string } =>
  typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string';

function ofError(error: ErrorLike): Failure {
  const isFinal = error instanceof NonRetryableError;
  const code = 'code' in error && typeof error.code === 'string' && error.code !== '' ? error.code : undefined;
  const known = 'details' in error ? storableDetails(error.details) : undefined;
  const name = typeof error.name === 'string' && error.name !== 'Error' ? { name: cut(error.name, most.name) } : {};
  const stack = typeof error.stack === 'string' ? { stack: cut(framesOf(error.stack), most.stack) } : {};
  const told = code ?? (isFinal ? 'non_retryable' : undefined);
  return {
    cause: isFinal ? 'invalid' : 'error',
    message: typeof error.message === 'string' ? error.message : messageOf(error),
    ...(told === undefined ? {} : { code: told }),
    details: { ...name, ...stack, ...known },
  };
}

function ofStep({ message, step, cause, code, details }: StepError): Failure {
  const known = storableDetails(details);
  return {
    cause: failureCauses.find((each) => each === cause) ?? 'error',
    message,
    ...(code === undefined ? {} : { code }),
    details: { ...known, step },
  };
}

function storableDetails(details: unknown): JsonObject | undefined {
  const storing = details === undefined ? undefined : storedValue(details, 'data');
  return storing?.kind === 'stored' && isJsonObject(storing.value) ? storing.value : undefined;
}

/** The same from the record as from the first time: the code cannot tell. */
export function errorOf(step: string, { cause, message, code, details }: Failure): StepError {
  return new StepError(message, {
    step,
    cause,
    ...(code === undefined ? {} : { code }),
    ...(details === undefined ? {} : { details }),
  });
}

function spelled(thrown: unknown): string {
  if (typeof thrown === 'string') return JSON.stringify(thrown);
  if (typeof thrown !== 'object' || thrown === null) return wordsOf(thrown);
  const storing = storedValue(thrown, 'data');
  const value: JsonValue | undefined = storing.kind === 'stored' ? storing.value : undefined;
  return value === undefined ? 'an object' : JSON.stringify(value);
}

/** Where it was thrown; what it says is told beside it, and where it came from in the end is no code of the author's. */
const framesOf = (stack: string): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, most.frames)
    .map((line) => line.trim())
    .join('\n');

/** Never in the middle of a character. */
const cut = (text: string, length: number): string => text.slice(0, length).toWellFormed();
