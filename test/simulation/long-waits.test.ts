/**
 * A run that waits longer than its deadline continues, and everything that it has stored lives on with it, whatever faults occur.
 * More seeds: `npm run simulate -- --long --seeds 2000`.
 */
import { expect, test } from 'vitest';
import { inTier, rotatingPart } from '../tier.ts';
import { slicesOf } from './search-parts.ts';
import { runSeeds } from './run-seeds.ts';

const rows = slicesOf(inTier({ quick: { from: 1, count: 4 }, deep: rotatingPart(300, 3) }), 100);

test.each(rows)(
  'waits of weeks extend deadlines, and nothing expires early: $count seeds from $from',
  async ({ from, count }) => {
    const { seeds, failed, seen } = await runSeeds({ from, count, world: 'long' });
    expect(failed).toEqual([]);
    expect(seeds).toBe(count);
    expect(seen['extensions'] ?? 0).toBeGreaterThan(count / 5);
  },
);
