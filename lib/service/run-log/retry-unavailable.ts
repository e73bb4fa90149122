/** Retries a call while a store or service is unavailable. */
import { type RetryLimits, retry } from '../../base/retry.ts';
import { durationMs } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import { Unavailable } from '../../ports/unavailable.ts';

/** About 16 seconds in total: a throttled store recovers within that time. */
export const throttlingLimits: RetryLimits = { attempts: 6, backoff: { baseMs: 500 } };

/** Repeats the call while it throws `Unavailable`. @throws the last error */
export const retryUnavailable = <Result>(
  clock: Pick<Clock, 'sleep'>,
  call: () => Promise<Result>,
  limits: RetryLimits = throttlingLimits,
): Promise<Result> =>
  retry(
    call,
    { ...limits, isRetryable: (error) => error instanceof Unavailable },
    { sleep: (ms) => clock.sleep(durationMs(ms)) },
  );
