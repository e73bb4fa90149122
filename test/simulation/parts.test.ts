/**
 * Turns of code that are written in parts, one commit for each entry, in rough weather: processes die and others commit between two
 * of them, and what holds of a turn in one commit holds. More seeds: `npm run simulate -- --parts --seeds 2000`.
 */
import { expect, test } from 'vitest';
import { inTier } from '../tier.ts';
import { runSeeds } from './run-seeds.ts';
import { simulate } from './simulation.ts';
import { optionsOfKind } from './options-of-seed.ts';

const count = inTier({ quick: 60, deep: 300 });

test(`turns in the smallest parts break no invariant: ${count} seeds`, { timeout: 300_000 }, async () => {
  const { seeds, failed } = await runSeeds({ from: 1, count, world: 'parts' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
});

test('they are more commits than whole turns', async () => {
  const ofSmallest = optionsOfKind('parts', 1);
  const { maxPartBytes: _bytesInPart, ...ofWhole } = ofSmallest;
  const [parts, whole] = [await simulate(ofSmallest), await simulate(ofWhole)];
  expect(parts.commits).toBeGreaterThan(whole.commits);
});
