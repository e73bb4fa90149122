/**
 * Runs that one commit can end: the head holds it, and most often their end too. The same invariants hold. More seeds:
 * `npm run simulate -- --short --seeds 2000`.
 */
import { expect, test } from 'vitest';
import { inTier, rotatingPart } from '../tier.ts';
import { noFaults } from './faults.ts';
import { slicesOf } from './search-parts.ts';
import { runSeeds } from './run-seeds.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

const rows = slicesOf(inTier({ quick: { from: 1, count: 12 }, deep: rotatingPart(600, 3) }));

test.each(rows)('short chains keep the invariants: $count seeds from $from', async ({ from, count }) => {
  const { seeds, failed } = await runSeeds({ from, count, world: 'short' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
});

const calm: SimulationOptions = {
  seed: 1,
  rates: noFaults,
  runs: 6,
  code: 0,
  idempotent: 1,
  isShared: true,
  runEvents: 'failed',
};

test('the ends of runs without faults are written with the commits that end them', async () => {
  const calls: string[] = [];
  await simulate({ ...calm, onCall: (name) => void calls.push(name) });
  const count = (name: string): number => calls.filter((call) => call === name).length;
  expect([count('log.create'), count('log.put'), count('log.project')]).toEqual([6, 6, 0]);
});

/** The quick tier crashes at every fourth call, before and after it. */
const everyCall = inTier({ quick: 4, deep: 1 });

test(`a crash at a call loses no run: one of ${everyCall}`, { timeout: 300_000 }, async () => {
  const calls: string[] = [];
  await simulate({ ...calm, runs: 2, onCall: (name) => void calls.push(name) });
  expect(calls.length).toBeGreaterThan(20);
  for (let call = 1; call <= calls.length; call += everyCall)
    for (const kind of ['crashBefore', 'crashAfter'] as const)
      await simulate({ ...calm, runs: 2, crashPoints: [{ call, kind }] });
});
