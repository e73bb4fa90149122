/** Converts a retry policy of an author to the engine's form. */
import { defined } from '../base/defined.ts';
import type { StepRetry } from '../engine/durable/step.ts';
import { durationMs } from '../engine/time.ts';
import { parseDuration } from '../sdk/duration.ts';

/** @throws TypeError for an invalid policy */
export function stepRetryOf(policy: unknown): StepRetry | undefined {
  if (policy === undefined) return undefined;
  if (typeof policy !== 'object' || policy === null) throw new TypeError('a retryPolicy must be an object');
  const fields: Readonly<Record<string, unknown>> = { ...policy };
  const { maximumAttempts, initialInterval, backoffCoefficient, maximumInterval, ...others } = fields;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new TypeError(`a retryPolicy has no field ${JSON.stringify(unknown)}`);
  return defined({
    maximumAttempts: maximumAttempts === undefined ? undefined : wholeNumber(maximumAttempts),
    initialIntervalMs: initialInterval === undefined ? undefined : durationMs(parseDuration(initialInterval)),
    backoffCoefficient: backoffCoefficient === undefined ? undefined : coefficient(backoffCoefficient),
    maximumIntervalMs: maximumInterval === undefined ? undefined : durationMs(parseDuration(maximumInterval)),
  });
}

function wholeNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw new TypeError(`maximumAttempts must be an integer of at least 0 (0: unlimited), and is ${String(value)}`);
  return value;
}

function coefficient(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1)
    throw new TypeError(`backoffCoefficient must be a number of at least 1, and is ${String(value)}`);
  return value;
}
