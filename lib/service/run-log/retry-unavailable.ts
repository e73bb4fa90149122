/** Trying again what a moment can mend. */
import { durationMs } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import { Unavailable } from '../../ports/unavailable.ts';

/** Sixteen seconds in all: a store that is asked too much refuses for some of them. */
const defaultMaxTries = 6;
const initialBackoffMs = 500;

/** Asks up to `maxTries` times while what it asks is unavailable, and waits twice as long each time. */
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
