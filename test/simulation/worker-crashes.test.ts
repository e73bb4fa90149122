/**
 * Attempts that kill their workers end within their limit, and crash storms fail no attempt (`worker-loss-checker.ts`). More
 * seeds: `npm run simulate -- --poison --seeds 2000`, and `--storm`.
 */
import { expect, test } from 'vitest';
import { inTier, rotatingPart } from '../tier.ts';
import { runSeeds } from './run-seeds.ts';

const poisoned = inTier({ quick: { from: 1, count: 12 }, deep: rotatingPart(500, 3) });
/** The first sixty seeds repeat little. */
const storm = inTier({ quick: { from: 61, count: 10 }, deep: rotatingPart(500, 3) });

test(`attempts that kill their workers end as lost: ${poisoned.count} seeds from ${poisoned.from}`, async () => {
  const { seeds, failed, seen } = await runSeeds({ ...poisoned, world: 'poison' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(poisoned.count);
  expect(seen['lostAttempts'] ?? 0).toBeGreaterThan(poisoned.count);
});

test(`a crash storm fails no attempt: ${storm.count} seeds from ${storm.from}`, async () => {
  const { seeds, failed, seen } = await runSeeds({ ...storm, world: 'storm' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(storm.count);
  expect(seen['lostAttempts'] ?? 0).toBe(0);
  expect(seen['repeated'] ?? 0, 'hardly anything was repeated').toBeGreaterThan(storm.count / 2);
});
