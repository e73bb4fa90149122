/**
 * Command batches written in parts, one commit per entry, with all faults: processes crash and other commits come between two
 * parts. The same invariants hold as for a batch in one commit. More seeds: `npm run simulate -- --parts --seeds 2000`.
 */
import { expect, test } from 'vitest';
import { inTier, rotatingPart } from '../tier.ts';
import { slicesOf } from './search-parts.ts';
import { runSeeds } from './run-seeds.ts';
import { simulate } from './simulation.ts';
import { optionsOfKind } from './options-of-seed.ts';

const rows = slicesOf(inTier({ quick: { from: 1, count: 20 }, deep: rotatingPart(300, 3) }));

test.each(rows)(
  'command batches split into single entries keep the invariants: $count seeds from $from',
  async ({ from, count }) => {
    const { seeds, failed } = await runSeeds({ from, count, world: 'parts' });
    expect(failed).toEqual([]);
    expect(seeds).toBe(count);
  },
);

test('split command batches make more commits', async () => {
  const ofSmallest = optionsOfKind('parts', 1);
  const { maxPartBytes: _bytesInPart, ...ofWhole } = ofSmallest;
  const [parts, whole] = [await simulate(ofSmallest), await simulate(ofWhole)];
  expect(parts.commits).toBeGreaterThan(whole.commits);
});
