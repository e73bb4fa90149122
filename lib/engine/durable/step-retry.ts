/**
 * Whether a failed step or workflow is retried. Formula and defaults of the code document:
 * `min(initial × coefficient^(attempt − 1), maximum)`, without jitter.
 */
import { backoffMs } from '../../base/retry.ts';
import type { Failure } from '../log/events.ts';
import { type DurationMs, type Instant, after, durationMs, seconds } from '../time.ts';
import type { StepRetry } from './step.ts';

export const stepRetryDefaults = {
  maximumAttempts: 10,
  initialIntervalMs: seconds(1),
  backoffCoefficient: 2,
  maximumIntervalMs: seconds(100),
} as const satisfies Required<StepRetry>;

/** A workflow runs once, unless it declares a retry policy. */
export const workflowRetryDefaults = { ...stepRetryDefaults, maximumAttempts: 1 } as const satisfies Required<StepRetry>;

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: DurationMs; readonly retryAt: Instant }
  | { readonly kind: 'give_up' };

/**
 * @param failedAttempt the attempt that failed, from 1
 * @param isFinal the code declared that a retry is useless
 */
export function decideRetry(
  policy: Required<StepRetry>,
  {
    failedAttempt,
    isFinal,
    now,
    deadlineAt,
  }: {
    readonly failedAttempt: number;
    readonly isFinal: boolean;
    readonly now: Instant;
    readonly deadlineAt: Instant;
  },
): RetryDecision {
  if (isFinal || (policy.maximumAttempts > 0 && failedAttempt >= policy.maximumAttempts)) return { kind: 'give_up' };
  const delayMs = intervalAfter(policy, failedAttempt);
  const retryAt = after(now, delayMs);
  // At or after the deadline the retry would never run.
  return retryAt >= deadlineAt ? { kind: 'give_up' } : { kind: 'retry', delayMs, retryAt };
}

const intervalAfter = (
  { initialIntervalMs, backoffCoefficient, maximumIntervalMs }: Required<StepRetry>,
  failedAttempt: number,
) =>
  durationMs(
    Math.round(backoffMs({ baseMs: initialIntervalMs, factor: backoffCoefficient, maxMs: maximumIntervalMs }, failedAttempt)),
  );

/** Whether no retry can succeed. */
export const isFinalFailure = ({ cause }: Pick<Failure, 'cause'>): boolean => cause === 'invalid';
