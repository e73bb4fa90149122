/** Seeds that change with the day and the commit. A failure prints the command that replays the seed. */
import { expect, it } from 'vitest';
import { firstRotatingSeed } from '../tier.ts';
import { runSeeds } from './run-seeds.ts';

const count = 300;
const from = firstRotatingSeed(count);

it(`the invariants hold with all faults: ${count} seeds from ${from}`, async () => {
  const { seeds, failed } = await runSeeds({ from, count, world: 'drawn' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
});
