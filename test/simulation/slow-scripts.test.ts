/**
 * Attempts that use up their time slice continue in the slow queue. Under faults too, none is lost, executed twice or
 * left waiting. More seeds: `npm run simulate -- --slow --seeds 2000`.
 */
import { expect, test } from 'vitest';
import { inTier, rotatingPart } from '../tier.ts';
import { slicesOf } from './search-parts.ts';
import { runSeeds } from './run-seeds.ts';

const rows = slicesOf(inTier({ quick: { from: 1, count: 8 }, deep: rotatingPart(300, 3) }), 100);

test.each(rows)('attempts in the slow queue end: $count seeds from $from', async ({ from, count }) => {
  const { seeds, failed, seen } = await runSeeds({ from, count, world: 'slow' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
  const { slicesSpent = 0, provenSlicesSpent = 0, repeatSlicesSpent = 0 } = seen;
  expect(slicesSpent).toBeGreaterThan(5 * count);
  // Each of the three slices was used up.
  expect(provenSlicesSpent).toBeGreaterThan(0);
  expect(repeatSlicesSpent).toBeGreaterThan(0);
  expect(slicesSpent - provenSlicesSpent - repeatSlicesSpent).toBeGreaterThan(5 * count);
});
