/** Trying again what a moment can mend. */
import { durationMs } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import { Unavailable } from '../ports/unavailable.ts';

/** Sixteen seconds in all: a store that is asked too much refuses for some of them. */
const sixTries = 6;
const firstWaitMs = 500;

/** Asks up to `mostTries` times while what it asks is unavailable, and waits twice as long each time. */
export async function patiently<Answer>(
  clock: Pick<Clock, 'sleep'>,
  ask: () => Promise<Answer>,
  mostTries = sixTries,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (trouble) {
      if (!(trouble instanceof Unavailable) || tries === mostTries) throw trouble;
      await clock.sleep(durationMs(firstWaitMs * 2 ** (tries - 1)));
    }
  }
}
