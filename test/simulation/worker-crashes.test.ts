/**
 * Attempts that kill their workers end within their limit, and crash storms fail no attempt (`worker-loss-checker.ts`). More
 * seeds: `npm run simulate -- --poison --seeds 2000`, and `--storm`.
 */
import { expect, test } from 'vitest';
import { inTier } from '../tier.ts';
import { runSeeds } from './run-seeds.ts';

const count = inTier({ quick: 80, deep: 500 });

test(`attempts that kill their workers end as lost: ${count} seeds`, async () => {
  const { seeds, failed, seen } = await runSeeds({ from: 1, count, world: 'poison' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
  expect(seen['lostAttempts'] ?? 0).toBeGreaterThan(count);
});

test(`a crash storm fails no attempt: ${count} seeds`, async () => {
  const { seeds, failed, seen } = await runSeeds({ from: 1, count, world: 'storm' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
  expect(seen['lostAttempts'] ?? 0).toBe(0);
  expect(seen['repeated'] ?? 0, 'hardly anything was repeated').toBeGreaterThan(count / 2);
});
