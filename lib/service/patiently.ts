/** Trying again what a moment can mend. */
import { durationMs } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import { Unavailable } from '../ports/unavailable.ts';

const mostTries = 5;
const betweenTries = durationMs(500);

/** Asks up to five times, where the world is not available. */
export async function patiently<Answer>(clock: Clock, ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (trouble) {
      if (!(trouble instanceof Unavailable) || tries === mostTries) throw trouble;
      await clock.sleep(betweenTries);
    }
  }
}
