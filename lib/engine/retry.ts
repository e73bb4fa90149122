/**
 * Causes of failures, and the retry policy of a node. Policies evaluate the cause, people read the message. Timeouts, cancellations and
 * provider errors are different causes and are never confused.
 */
import { backoffMs } from '../base/retry.ts';
import { invariant } from './invariant.ts';
import { type DurationMs, durationMs } from './time.ts';

export const failureCauses = [
  /** the author's code threw */
  'error',
  /** the author's code threw a ReferenceError or a SyntaxError, or a script a TypeError: another attempt runs the same code */
  'code_error',
  /** the attempt exceeded its timeout, which is not a cancellation */
  'timeout',
  /** a remote service responded with an error, or was not reachable */
  'provider_error',
  /** a remote service asked to slow down */
  'rate_limit',
  /** the input or output violates its contract */
  'contract_violated',
  /** the author's configuration cannot work; a retry is useless */
  'invalid',
  /** the node attempted something that is not allowed, such as a private address */
  'forbidden',
  /** a parent failed, and the node's policy propagates the failure */
  'upstream_failure',
  /** the node's message or its deliveries were lost before there was a result */
  'lost',
  /** the run's deadline passed */
  'deadline',
  /** the run's budget is used up */
  'budget',
  /** a bug in Stepwell */
  'internal',
] as const;

export type FailureCause = (typeof failureCauses)[number];

/** Causes for which a retry can succeed; an author's `retry.retry_on` selects among them. */
export const retryableCauses = [
  'error',
  'code_error',
  'timeout',
  'provider_error',
  'rate_limit',
  'contract_violated',
  'lost',
] as const satisfies readonly FailureCause[];
type RetryableCause = (typeof retryableCauses)[number];

/** The retry policy of a node. */
export interface RetryPolicy {
  /** all attempts, the first included: 1 means no retry */
  readonly attempts: number;
  readonly backoffMs: DurationMs;
  readonly maxBackoffMs: DurationMs;
  readonly retryOn: readonly RetryableCause[];
  /** full delays (the graph document: 1 s, 2 s, 4 s), or random between half and full (the lens document) */
  readonly jitter: 'none' | 'half';
}

/**
 * The delay before the next attempt, by the formula of the graph and lens documents:
 * `min(maxBackoff, backoff × 2^(attempt−1))`; with jitter, a random value between half of it and all of it.
 * @param failedAttempt the attempt that just failed, from 1
 * @param random from 0 up to 1; unused without jitter
 * @param requestedDelayMs delay requested by the remote side (`Retry-After`), a lower bound
 */
export function backoff(
  policy: Pick<RetryPolicy, 'backoffMs' | 'maxBackoffMs' | 'jitter'>,
  failedAttempt: number,
  random: number,
  requestedDelayMs: number = 0,
): DurationMs {
  invariant(failedAttempt >= 1 && random >= 0 && random <= 1, `no backoff for attempt ${failedAttempt} with random ${random}`);
  const jitter = policy.jitter === 'half' ? 0.5 : 0;
  const wait = backoffMs({ baseMs: policy.backoffMs, maxMs: policy.maxBackoffMs, jitter }, failedAttempt, random);
  return durationMs(Math.round(Math.max(wait, requestedDelayMs)));
}
