/** Converts thrown values to recorded failures, and recorded failures to `StepError`. */
import { defined } from '../base/defined.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';
import { reportedFailure } from '../engine/log/event-limits.ts';
import { failureCauses } from '../engine/retry.ts';
import { errorMessage, errorText } from '../engine/error-text.ts';
import { NonRetryableError, StepError } from '../sdk/errors.ts';
import { storedValue } from './stored-value.ts';

const maxLengths = { name: 128, stack: 1_000, frames: 5 } as const;

/** Maps the frames of a stack to the author's files, relative to the project. */
export type StackMapper = (stack: string) => string;

/** Accepts any thrown value. Never throws. `details.at` is the author's line, if the stack can be mapped to the author's files. */
export function failureOf(thrown: unknown, mapStack?: StackMapper): Failure {
  try {
    return reportedFailure(describeThrown(thrown, mapStack));
  } catch {
    return { cause: 'error', message: 'the code threw a value that cannot be read' };
  }
}

function describeThrown(thrown: unknown, mapStack: StackMapper | undefined): Failure {
  if (thrown instanceof StepError) return fromStepError(thrown);
  if (thrown instanceof Error || isErrorLike(thrown)) return fromError(thrown, mapStack);
  return { cause: 'error', code: 'thrown_value', message: `the code threw ${describeValue(thrown)}, which is not an Error` };
}

interface ErrorLike {
  readonly name?: unknown;
  readonly message: unknown;
  readonly stack?: unknown;
}

/** Errors of another realm, or of a library with its own error class. */
const isErrorLike = (thrown: unknown): thrown is ErrorLike & { readonly message: string } =>
  typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string';

function fromError(error: ErrorLike, mapStack: StackMapper | undefined): Failure {
  const isFinal = error instanceof NonRetryableError;
  const code = 'code' in error && typeof error.code === 'string' && error.code !== '' ? error.code : undefined;
  const storable = 'details' in error ? storableDetails(error.details) : undefined;
  const name = typeof error.name === 'string' && error.name !== 'Error' ? { name: truncate(error.name, maxLengths.name) } : {};
  const stack = typeof error.stack === 'string' ? stackDetails(error.stack, mapStack) : {};
  const reportedCode = code ?? (isFinal ? 'non_retryable' : undefined);
  return defined({
    cause: isFinal ? 'invalid' : isMistake(error) ? 'code_error' : 'error',
    message: typeof error.message === 'string' ? error.message : errorMessage(error),
    code: reportedCode,
    details: { ...name, ...stack, ...storable },
  });
}

/**
 * Another attempt runs the same code and fails again. A TypeError is no such proof, because `fetch` throws one when the network fails.
 * A SyntaxError of `JSON.parse` is none either: `response.json()` throws it for the error page of a proxy.
 */
const isMistake = ({ name, message }: ErrorLike): boolean =>
  name === 'ReferenceError' || (name === 'SyntaxError' && !/\bJSON\b/.test(String(message)));

function fromStepError({ message, step, cause, code, details }: StepError): Failure {
  const storable = storableDetails(details);
  return defined({
    cause: failureCauses.find((each) => each === cause) ?? 'error',
    message,
    code,
    details: { ...storable, step },
  });
}

function storableDetails(details: unknown): JsonObject | undefined {
  const stored = details === undefined ? undefined : storedValue(details, 'data');
  return stored?.kind === 'stored' && isJsonObject(stored.value) ? stored.value : undefined;
}

/** Builds the error from the record alone, so that each replay throws the same error. */
export function stepErrorOf(step: string, { cause, message, code, details }: Failure): StepError {
  return new StepError(
    message,
    defined({
      step,
      cause,
      code,
      details,
    }),
  );
}

function describeValue(thrown: unknown): string {
  if (typeof thrown === 'string') return JSON.stringify(thrown);
  if (typeof thrown !== 'object' || thrown === null) return errorText(thrown);
  const stored = storedValue(thrown, 'data');
  const value: JsonValue | undefined = stored.kind === 'stored' ? stored.value : undefined;
  return value === undefined ? 'an object' : JSON.stringify(value);
}

function stackDetails(stack: string, mapStack: StackMapper | undefined): { readonly at?: string; readonly stack?: string } {
  if (mapStack === undefined) return { stack: truncate(framesOf(stack), maxLengths.stack) };
  const frames = framesOf(mapStack(stack));
  const at = authorLine.exec(frames)?.[1];
  return defined({ at, stack: frames === '' ? undefined : truncate(frames, maxLengths.stack) });
}

/** The first frame in a file of the project: not in a package, and not in a folder outside. */
const authorLine = /^at (?:.*\()?(?!\.\.\/|.*node_modules\/|workflows\.mjs:)([^()\s]+:\d+:\d+)\)?$/m;

/** The top frames only: the message is stored separately, and the bottom frames are not the author's code. */
const framesOf = (stack: string): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, maxLengths.frames)
    .map((line) => line.trim())
    .join('\n');

/** Never cuts a surrogate pair. */
const truncate = (text: string, length: number): string => text.slice(0, length).toWellFormed();
