import { expect, it } from 'vitest';
import { inTier } from '../tier.ts';
import { runCorpusUnderChaos } from './corpus-chaos.ts';

const every = 4;

it.each(inTier({ quick: [0], deep: [0, 1, 2, 3] }))(
  `fixed workflows keep the invariants with all faults: every fourth from index %s`,
  async (first) => {
    const { runs, commits, faults, violations } = await runCorpusUnderChaos(1, { first, every });
    expect(violations).toEqual([]);
    expect([runs > 250 / every, commits > 3 * runs, faults > 5 * runs]).toEqual([true, true, true]);
  },
);
