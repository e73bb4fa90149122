/**
 * A run that waits longer than its deadline continues, and everything that it has stored lives on with it, whatever faults occur.
 * More seeds: `npm run simulate -- --long --seeds 2000`.
 */
import { expect, test } from 'vitest';
import { inTier } from '../tier.ts';
import { runSeeds } from './run-seeds.ts';

const count = inTier({ quick: 8, deep: 300 });

test(`waits of weeks extend deadlines, and nothing expires early: ${count} seeds`, async () => {
  const { seeds, failed, seen } = await runSeeds({ from: 1, count, world: 'long' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
  expect(seen['extensions'] ?? 0).toBeGreaterThan(count / 5);
});
