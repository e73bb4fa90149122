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

export type Judged =
  | { readonly kind: 'again'; readonly delayMs: DurationMs; readonly retryAt: Instant }
  | { readonly kind: 'over' };

/**
 * @param failed which try failed, from 1
 * @param isFinal the code said that another try is of no use
 */
export function judgeFailure(
  policy: Required<StepRetry>,
  {
    failed,
    isFinal,
    now,
    deadlineAt,
  }: {
    readonly failed: number;
    readonly isFinal: boolean;
    readonly now: Instant;
    readonly deadlineAt: Instant;
  },
): Judged {
  if (isFinal || (policy.maximumAttempts > 0 && failed >= policy.maximumAttempts)) return { kind: 'over' };
  const delayMs = intervalAfter(policy, failed);
  const retryAt = after(now, delayMs);
  // It would begin when the run is over.
  return retryAt >= deadlineAt ? { kind: 'over' } : { kind: 'again', delayMs, retryAt };
}

/** The exponent is held down where the power would be no number any more. */
const intervalAfter = ({ initialIntervalMs, backoffCoefficient, maximumIntervalMs }: Required<StepRetry>, failed: number) =>
  durationMs(Math.round(Math.min(maximumIntervalMs, initialIntervalMs * backoffCoefficient ** Math.min(failed - 1, 1_000))));

/** The code of a failure that no further try can mend. */
export const isFinalFailure = ({ cause }: Pick<Failure, 'cause'>): boolean => cause === 'invalid';
