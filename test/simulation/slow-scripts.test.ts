/**
 * Attempts that use up their first slice continue in the slow queue. Under faults too, none is lost, executed twice or
 * left waiting. More seeds: `npm run simulate -- --slow --seeds 2000`.
 */
import { expect, test } from 'vitest';
import { inTier, rotatingPart } from '../tier.ts';
import { slicesOf } from './parts-of-searches.ts';
import { runSeeds } from './run-seeds.ts';

const rows = slicesOf(inTier({ quick: { from: 1, count: 8 }, deep: rotatingPart(300, 3) }));

test.each(rows)('attempts in the slow queue end: $count seeds from $from', async ({ from, count }) => {
  const { seeds, failed, seen } = await runSeeds({ from, count, world: 'slow' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
  expect(seen['slicesSpent'] ?? 0).toBeGreaterThan(5 * count);
});
