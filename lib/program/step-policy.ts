/** Retry policies as authors write them, as the engine knows them. */
import type { StepRetry } from '../engine/durable/step.ts';
import { durationMs } from '../engine/time.ts';
import { parseDuration } from '../sdk/duration.ts';

/** @throws TypeError for what is no policy */
export function stepRetryOf(policy: unknown): StepRetry | undefined {
  if (policy === undefined) return undefined;
  if (typeof policy !== 'object' || policy === null) throw new TypeError('a retryPolicy is an object');
  const given: Readonly<Record<string, unknown>> = { ...policy };
  const { maximumAttempts, initialInterval, backoffCoefficient, maximumInterval, ...others } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new TypeError(`a retryPolicy has no ${JSON.stringify(unknown)}`);
  return {
    ...(maximumAttempts === undefined ? {} : { maximumAttempts: whole(maximumAttempts) }),
    ...(initialInterval === undefined ? {} : { initialIntervalMs: durationMs(parseDuration(initialInterval)) }),
    ...(backoffCoefficient === undefined ? {} : { backoffCoefficient: factor(backoffCoefficient) }),
    ...(maximumInterval === undefined ? {} : { maximumIntervalMs: durationMs(parseDuration(maximumInterval)) }),
  };
}

function whole(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw new TypeError(`maximumAttempts is a whole number, 0 for no end of them, and not ${String(value)}`);
  return value;
}

function factor(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1)
    throw new TypeError(`backoffCoefficient is a number of at least 1, and not ${String(value)}`);
  return value;
}
