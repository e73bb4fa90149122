/**
 * Runs that start in batches: they share due entries and requests of a queue, and the same invariants hold. More seeds:
 * `npm run simulate -- --batches --seeds 2000`.
 */
import { expect, test } from 'vitest';
import { inTier, rotatingPart } from '../tier.ts';
import { noFaults } from './faults.ts';
import { slicesOf } from './search-parts.ts';
import { runSeeds } from './run-seeds.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

const rows = slicesOf(inTier({ quick: { from: 1, count: 10 }, deep: rotatingPart(300, 3) }));

test.each(rows)('starts in batches keep the invariants: $count seeds from $from', async ({ from, count }) => {
  const { seeds, failed } = await runSeeds({ from, count, world: 'batches' });
  expect(failed).toEqual([]);
  expect(seeds).toBe(count);
});

const calm: SimulationOptions = { seed: 3, rates: noFaults, runs: 10, code: 0, isShared: true, areBatched: true };

test('ten starts of a batch share a due entry, and all of them have one before their heads', async () => {
  const calls: string[] = [];
  await simulate({ ...calm, onCall: (name) => void calls.push(name) });
  const firstHead = calls.indexOf('log.create');
  const before = calls.slice(0, firstHead);
  expect(before.filter((name) => name.startsWith('index.markDue'))).toEqual(['index.markDueTogether']);
  expect(calls.slice(firstHead, firstHead + 10)).toEqual(Array.from({ length: 10 }, () => 'log.create'));
});

/** Each crashes the batch at every fourth call, before and after it. */
const firstCalls = inTier({ quick: [1], deep: [1, 2, 3, 4] });

test.each(firstCalls)(
  'a crash at a call of a batch loses no run: every fourth from call %s',
  { timeout: 300_000 },
  async (first) => {
    const calls: string[] = [];
    await simulate({ ...calm, onCall: (name) => void calls.push(name) });
    // The process of the batch ends with the send of its jobs.
    const last = calls.indexOf('jobs.send') + 1;
    expect(last).toBeGreaterThan(30);
    for (let call = first; call <= last; call += 4)
      for (const kind of ['crashBefore', 'crashAfter'] as const) await simulate({ ...calm, crashPoints: [{ call, kind }] });
  },
);
