import { describe, expect, it } from 'vitest';
import { overrideMethods } from '../service/override-methods.ts';
import { inTier } from '../tier.ts';
import { chaosFaults } from './faults.ts';
import { isCaught, seeds } from './seeds.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

const [count, firstSeeds] = inTier({ quick: [6, [1]], deep: [20, [1, 21, 41]] });

describe('concurrency slots with all faults', () => {
  const crowd = { rates: chaosFaults, runs: 6, isShared: true, code: 0 } as const;

  it.each(firstSeeds)('never exceed their limit, each has one run, and every run gets one: seeds from %s', async (first) => {
    const together = new Map<number, number>();
    const counted = { acquiredSlot: 0, awaitedSlot: 0 };
    for (const seed of seeds(count, first)) {
      const maxConcurrentRuns = 1 + (seed % 3);
      const report = await simulate({ ...crowd, seed, limits: { maxConcurrentRuns } });
      together.set(maxConcurrentRuns, Math.max(together.get(maxConcurrentRuns) ?? 0, report.together));
      counted.acquiredSlot += report.acquiredSlot;
      counted.awaitedSlot += report.awaitedSlot;
    }
    expect([...together].toSorted(([one], [other]) => one - other)).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(counted.acquiredSlot).toBeGreaterThan(5 * count);
    expect(counted.awaitedSlot, 'hardly a run had to wait').toBeGreaterThan(2 * count);
  });

  const bugs: Record<string, Partial<SimulationOptions>> = {
    'a slot that is acquired without a check': {
      planted: (world) => ({
        ...world,
        concurrencySlots: overrideMethods(world.concurrencySlots, { acquire: async () => true }),
      }),
    },
    'a slot that other runs release': {
      planted: (world) => ({
        ...world,
        concurrencySlots: overrideMethods(world.concurrencySlots, {
          release: async (of, slot) => {
            const holder = (await world.concurrencySlots.taken(of)).find((taken) => taken.slot === slot);
            if (holder !== undefined) await world.concurrencySlots.release(of, slot, holder.runId);
          },
          // Slots of other runs count as additional slots of this run.
          taken: async (of) => {
            const taken = await world.concurrencySlots.taken(of);
            return taken.length < 2 ? taken : taken.map((each) => ({ ...each, runId: taken[0]?.runId ?? each.runId }));
          },
        }),
      }),
    },
    'a slot that no run releases': {
      planted: (world) => ({
        ...world,
        concurrencySlots: overrideMethods(world.concurrencySlots, { release: async () => undefined }),
      }),
    },
    'lost messages about free slots, and no sweep': {
      withoutSweep: true,
      planted: (world) => ({
        ...world,
        jobs: overrideMethods(world.jobs, {
          sendDelayed: async (job, delay) => (job.kind === 'slot' ? undefined : world.jobs.sendDelayed(job, delay)),
        }),
      }),
    },
  };

  it.each(Object.entries(bugs))('%s is caught', async (_name, bug) => {
    expect(await isCaught({ ...crowd, limits: { maxConcurrentRuns: 2 }, ...bug }, 100)).toBe(true);
  });
});
