/** Retries a call while a store or service is unavailable. */
import { durationMs } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import { Unavailable } from '../../ports/unavailable.ts';

/** About 16 seconds in total: a throttled store recovers within that time. */
const defaultMaxTries = 6;
const initialBackoffMs = 500;

/** Calls up to `maxTries` times while the call throws `Unavailable`, and doubles the wait each time. */
export async function retryUnavailable<Result>(
  clock: Pick<Clock, 'sleep'>,
  call: () => Promise<Result>,
  maxTries = defaultMaxTries,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Unavailable) || tries === maxTries) throw error;
      await clock.sleep(durationMs(initialBackoffMs * 2 ** (tries - 1)));
    }
  }
}
