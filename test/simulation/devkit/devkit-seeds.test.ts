import { expect, test } from 'vitest';
import { chaosFaults } from '../faults.ts';
import { checkDevKitSeeds } from './devkit-seeds.ts';
import { simulateDevKit } from './simulate-devkit.ts';

test.each([
  ['none', 2],
  ['chaos', 3],
  ['right clocks', 2],
] as const)("runs of the Workflow DevKit keep the invariants with the faults '%s'", (profile, count) =>
  checkDevKitSeeds({ profile, from: 1, count }),
);

/** Seeds that once found a bug, each with what was wrong. */
const regressionSeeds = [
  [3_123_663, 'a page of events left out those before commits that have no event, because a token was claimed'],
] as const;

test.each(regressionSeeds)('seed %i passes: %s', async (seed) => {
  await simulateDevKit({ seed, rates: chaosFaults });
});

test('runs of the Workflow DevKit give the same history for the same seed', async () => {
  const [one, two] = [
    await simulateDevKit({ seed: 5, rates: chaosFaults }),
    await simulateDevKit({ seed: 5, rates: chaosFaults }),
  ];
  expect(two).toEqual(one);
});
