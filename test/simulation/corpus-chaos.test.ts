import { expect, it } from 'vitest';
import { inTier } from '../tier.ts';
import { runCorpusUnderChaos } from './corpus-chaos.ts';

const every = inTier({ quick: 4, deep: 1 });

it(`fixed workflows keep the invariants with all faults: one of ${every}`, async () => {
  const { runs, commits, faults, violations } = await runCorpusUnderChaos(1, every);
  expect(violations).toEqual([]);
  expect([runs > 250 / every, commits > 3 * runs, faults > 5 * runs]).toEqual([true, true, true]);
});
