/**
 * Attempts that kill their workers end within their limit, and crash storms fail no attempt (`worker-loss-checker.ts`). More
 * seeds: `npm run simulate -- --poison --seeds 2000`, and `--storm`.
 */
import { expect, test } from 'vitest';
import { inTier, rotatingPart } from '../tier.ts';
import { slicesOf } from './search-parts.ts';
import { runSeeds } from './run-seeds.ts';

const poisoned = slicesOf(inTier({ quick: { from: 1, count: 12 }, deep: rotatingPart(500, 3) }), 200);
/** The first sixty seeds repeat little. */
const storm = slicesOf(inTier({ quick: { from: 61, count: 10 }, deep: rotatingPart(500, 3) }), 200);

test.each(poisoned)('attempts that kill their workers end as lost: $count seeds from $from', async ({ from, count }) => {
  const { seeds, failed, seen } = await runSeeds({ from, count, world: 'poison' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
  expect(seen['lostAttempts'] ?? 0).toBeGreaterThan(count);
});

test.each(storm)('a crash storm fails no attempt: $count seeds from $from', async ({ from, count }) => {
  const { seeds, failed, seen } = await runSeeds({ from, count, world: 'storm' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
  expect(seen['lostAttempts'] ?? 0).toBe(0);
  expect(seen['repeated'] ?? 0, 'hardly anything was repeated').toBeGreaterThan(count / 2);
});
