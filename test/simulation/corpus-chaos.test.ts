import { expect, it } from 'vitest';
import { runCorpusUnderChaos } from './corpus-chaos.ts';

it('every fixed workflow keeps the invariants with all faults', async () => {
  const { runs, commits, faults, violations } = await runCorpusUnderChaos(1);
  expect(violations).toEqual([]);
  expect([runs > 250, commits > 3 * runs, faults > 5 * runs]).toEqual([true, true, true]);
});
