/** Retry policies as authors write them, as the engine knows them. */
import { defined } from '../engine/defined.ts';
import type { StepRetry } from '../engine/durable/step.ts';
import { durationMs } from '../engine/time.ts';
import { parseDuration } from '../sdk/duration.ts';

/** @throws TypeError for what is no policy */
export function stepRetryOf(policy: unknown): StepRetry | undefined {
  if (policy === undefined) return undefined;
  if (typeof policy !== 'object' || policy === null) throw new TypeError('a retryPolicy is an object');
  const fields: Readonly<Record<string, unknown>> = { ...policy };
  const { maximumAttempts, initialInterval, backoffCoefficient, maximumInterval, ...others } = fields;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new TypeError(`a retryPolicy has no ${JSON.stringify(unknown)}`);
  return defined({
    maximumAttempts: maximumAttempts === undefined ? undefined : wholeNumber(maximumAttempts),
    initialIntervalMs: initialInterval === undefined ? undefined : durationMs(parseDuration(initialInterval)),
    backoffCoefficient: backoffCoefficient === undefined ? undefined : coefficient(backoffCoefficient),
    maximumIntervalMs: maximumInterval === undefined ? undefined : durationMs(parseDuration(maximumInterval)),
  });
}

function wholeNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw new TypeError(`maximumAttempts is a whole number, 0 for no end of them, and not ${String(value)}`);
  return value;
}

function coefficient(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1)
    throw new TypeError(`backoffCoefficient is a number of at least 1, and not ${String(value)}`);
  return value;
}
