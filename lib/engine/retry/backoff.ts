/** The wait before the next attempt. Formula and defaults: what the graph and the lens document say of retries. */
import { invariant } from '../invariant.ts';
import { type DurationMs, durationMs } from '../time.ts';
import type { RetryPolicy } from './policy.ts';

/**
 * `min(maxBackoff, backoff × 2^(attempt−1))`, and with jitter between half and all of it.
 * @param failedAttempt the attempt that just failed, from 1
 * @param random from 0 up to 1; unused without jitter
 * @param requestedDelayMs a wait the other side asked for (`Retry-After`): never come back before it
 */
export function backoff(
  policy: Pick<RetryPolicy, 'backoffMs' | 'maxBackoffMs' | 'jitter'>,
  failedAttempt: number,
  random: number,
  requestedDelayMs: number = 0,
): DurationMs {
  invariant(failedAttempt >= 1 && random >= 0 && random <= 1, `no backoff for attempt ${failedAttempt}, chance ${random}`);
  const full = Math.min(policy.maxBackoffMs, policy.backoffMs * 2 ** Math.min(failedAttempt - 1, 40));
  const wait = policy.jitter === 'half' ? full * (0.5 + random * 0.5) : full;
  return durationMs(Math.round(Math.max(wait, requestedDelayMs)));
}
