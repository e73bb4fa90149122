/** Runs many seeds, on as many threads as there are cores. */
import { availableParallelism } from 'node:os';
import { AskedThread } from './asked-thread.ts';
import type { WorldKind } from './world-of-seed.ts';
import { type Tally, emptyTally, merge, tallySchema } from './tally.ts';

/** Seeds that a thread is given at a time. */
const atATime = 25;

export interface SeedsAsked {
  readonly from: number;
  readonly count: number;
  readonly world: WorldKind;
  /** by then no further seeds are begun; a whole number of milliseconds since the epoch */
  readonly until?: number;
  readonly onPart?: (tally: Tally) => void;
}

/** @returns what came of a gapless row of seeds from the first one */
export async function runSeeds({ from, count, world, until = Infinity, onPart }: SeedsAsked): Promise<Tally> {
  const whole = emptyTally();
  const end = from + count;
  let next = from;
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      await using thread = new AskedThread(new URL('./seeds-thread.ts', import.meta.url), tallySchema);
      while (next < end && Date.now() < until) {
        const part = { from: next, count: Math.min(atATime, end - next), world };
        next += part.count;
        merge(whole, await thread.ask(part));
        onPart?.(whole);
      }
    }),
  );
  whole.failed.sort((one, other) => one.seed - other.seed);
  return whole;
}
