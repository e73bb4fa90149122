/** The delay before the next attempt. Formula and defaults of the graph and lens documents. */
import { backoffMs } from '../../base/retry.ts';
import { invariant } from '../invariant.ts';
import { type DurationMs, durationMs } from '../time.ts';
import type { RetryPolicy } from './policy.ts';

/**
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
