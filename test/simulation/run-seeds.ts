/** Runs many seeds on as many threads as there are cores, and few on one: a thread takes as long to begin as several seeds. */
import { availableParallelism } from 'node:os';
import { RequestThread } from './request-thread.ts';
import type { SimulationKind } from './options-of-seed.ts';
import { type Tally, emptyTally, merge, tallySchema } from './tally.ts';

/** Seeds that a thread is given at a time. */
const atATime = 25;

export interface SeedRange {
  readonly from: number;
  readonly count: number;
  readonly world: SimulationKind;
  /** by then no further seeds are begun; a whole number of milliseconds since the epoch */
  readonly until?: number;
  readonly onPart?: (tally: Tally) => void;
}

/** @returns what came of a gapless row of seeds from the first one */
export async function runSeeds({ from, count, world, until = Infinity, onPart }: SeedRange): Promise<Tally> {
  const whole = emptyTally();
  const end = from + count;
  let next = from;
  await Promise.all(
    Array.from({ length: Math.min(availableParallelism(), Math.ceil(count / atATime)) }, async () => {
      await using thread = new RequestThread(new URL('./seeds-thread.ts', import.meta.url), tallySchema);
      while (next < end && Date.now() < until) {
        const part = { from: next, count: Math.min(atATime, end - next), world };
        next += part.count;
        merge(whole, await thread.request(part));
        onPart?.(whole);
      }
    }),
  );
  whole.failed.sort((one, other) => one.seed - other.seed);
  return whole;
}
