/**
 * Whether a step, or a workflow, that failed is tried again. Formula and defaults: what the code document says of retries,
 * `min(initial × coefficient^(attempt − 1), maximum)`, without jitter.
 */
import type { Failure } from '../log/events.ts';
import { type DurationMs, type Instant, after, durationMs, seconds } from '../time.ts';
import type { StepRetry } from './step.ts';

export const stepRetryDefaults = {
  maximumAttempts: 10,
  initialIntervalMs: seconds(1),
  backoffCoefficient: 2,
  maximumIntervalMs: seconds(100),
} as const satisfies Required<StepRetry>;

/** A workflow is run once, unless it says otherwise. */
export const workflowRetryDefaults = { ...stepRetryDefaults, maximumAttempts: 1 } as const satisfies Required<StepRetry>;

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: DurationMs; readonly retryAt: Instant }
  | { readonly kind: 'give_up' };

/**
 * @param failed which try failed, from 1
 * @param isFinal the code said that another try is of no use
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
  // It would begin when the run is over.
  return retryAt >= deadlineAt ? { kind: 'give_up' } : { kind: 'retry', delayMs, retryAt };
}

/** The exponent is held down where the power would be no number any more. */
const intervalAfter = (
  { initialIntervalMs, backoffCoefficient, maximumIntervalMs }: Required<StepRetry>,
  failedAttempt: number,
) =>
  durationMs(
    Math.round(Math.min(maximumIntervalMs, initialIntervalMs * backoffCoefficient ** Math.min(failedAttempt - 1, 1_000))),
  );

/** The code of a failure that no further try can mend. */
export const isFinalFailure = ({ cause }: Pick<Failure, 'cause'>): boolean => cause === 'invalid';
