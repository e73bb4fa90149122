/** Seeds that no run has looked at before: another row each day and for each commit. A seed that fails is printed with the line that replays it. */
import { expect, it } from 'vitest';
import { firstRotatingSeed } from '../tier.ts';
import { runSeeds } from './run-seeds.ts';

const count = 1_000;
const from = firstRotatingSeed(count);

it(`the invariants hold in rough weather: ${count} seeds from ${from}`, async () => {
  const { seeds, failed } = await runSeeds({ from, count, world: 'drawn' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
});
