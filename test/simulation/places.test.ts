import { describe, expect, it } from 'vitest';
import { replaced } from '../service/replaced.ts';
import { inTier } from '../tier.ts';
import { roughWeather } from './faults.ts';
import { isCaught, seeds } from './seeds.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

const count = inTier({ quick: 30, deep: 120 });

describe('places in rough weather', () => {
  const crowd = { rates: roughWeather, runs: 6, isShared: true, code: 0 } as const;

  it('are never more than there are, each for one run, and every run gets its turn', async () => {
    const together = new Map<number, number>();
    const counted = { letIn: 0, hadToWait: 0 };
    for (const seed of seeds(count)) {
      const maxConcurrentRuns = 1 + (seed % 3);
      const report = await simulate({ ...crowd, seed, limits: { maxConcurrentRuns } });
      together.set(maxConcurrentRuns, Math.max(together.get(maxConcurrentRuns) ?? 0, report.together));
      counted.letIn += report.letIn;
      counted.hadToWait += report.hadToWait;
    }
    expect([...together].toSorted(([one], [other]) => one - other)).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(counted.letIn).toBeGreaterThan(5 * count);
    expect(counted.hadToWait, 'hardly a run had to wait').toBeGreaterThan(2 * count);
  });

  const bugs: Record<string, Partial<SimulationOptions>> = {
    'a place that is taken without asking whether it is free': {
      planted: (world) => ({ ...world, places: replaced(world.places, { take: async () => true }) }),
    },
    'a place that anybody gives back': {
      planted: (world) => ({
        ...world,
        places: replaced(world.places, {
          free: async (of, place) => {
            const holder = (await world.places.taken(of)).find((taken) => taken.place === place);
            if (holder !== undefined) await world.places.free(of, place, holder.runId);
          },
          // Everybody else's places look like the run's own extra ones.
          taken: async (of) => {
            const taken = await world.places.taken(of);
            return taken.length < 2 ? taken : taken.map((each) => ({ ...each, runId: taken[0]?.runId ?? each.runId }));
          },
        }),
      }),
    },
    'a place that nobody gives back': {
      planted: (world) => ({ ...world, places: replaced(world.places, { free: async () => undefined }) }),
    },
    'word of a place that is always lost, and no sweep': {
      withoutSweep: true,
      planted: (world) => ({
        ...world,
        jobs: replaced(world.jobs, {
          sendLater: async (job, delay) => (job.kind === 'place' ? undefined : world.jobs.sendLater(job, delay)),
        }),
      }),
    },
  };

  it.each(Object.entries(bugs))('%s is caught', async (_name, bug) => {
    expect(await isCaught({ ...crowd, limits: { maxConcurrentRuns: 2 }, ...bug }, 100)).toBe(true);
  });
});
