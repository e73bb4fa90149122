/** Crashes that are aimed: at each port call from the start of a run until its world is at rest. */
import { describe, expect, it } from 'vitest';
import { noFaults } from './faults.ts';
import { seeds } from './seeds.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

describe('a crash at every port call', () => {
  const [awaitsASignal, goesThroughLoops] = [48, 50];

  it('is also one while a signal is given, and one within the passes of loops', async () => {
    const calm = (seed: number) => simulate({ seed, rates: noFaults, runs: 1 });
    expect((await calm(awaitsASignal)).signalsGiven).toBeGreaterThan(0);
    expect((await calm(goesThroughLoops)).inPasses).toBeGreaterThan(20);
  });

  it.each([3, 7, awaitsASignal, goesThroughLoops])(
    'leaves nothing lost and nothing done twice: workflow of seed %i',
    async (seed) => {
      const calm: SimulationOptions = { seed, rates: noFaults, runs: 1 };
      const { calls } = await simulate(calm);
      expect(calls).toBeGreaterThan(20);
      for (let call = 1; call <= calls; call += 1) {
        for (const kind of ['crashBefore', 'crashAfter'] as const) {
          const { counts } = await simulate({ ...calm, aim: { call, kind } });
          expect(counts[kind]).toBe(1);
        }
      }
    },
  );
});

describe('a worker that is killed', () => {
  it.each(seeds(3))(
    'has its run moving again within three minutes, wherever it was killed: workflow of seed %i',
    async (seed) => {
      const brisk: SimulationOptions = { seed, rates: noFaults, runs: 1, isBrisk: true };
      const { calls } = await simulate(brisk);
      for (let call = 1; call <= calls; call += 1) {
        const { longestStillMs } = await simulate({ ...brisk, aim: { call, kind: 'crashAfter' } });
        expect(longestStillMs, `killed after call ${call}`).toBeLessThanOrEqual(180_000);
      }
    },
  );
});

describe('budgets', () => {
  it('are kept wherever a process dies', async () => {
    const calm: SimulationOptions = {
      seed: 8,
      rates: noFaults,
      runs: 1,
      limits: { budget: { maxNodeExecutions: 4, maxTokens: 30 } },
    };
    const { calls, overBudget } = await simulate(calm);
    expect([overBudget, calls > 120]).toEqual([1, true]);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) await simulate({ ...calm, aim: { call, kind } });
    }
  });
});

describe('places', () => {
  it('are found and given back wherever a process dies', async () => {
    const calm: SimulationOptions = {
      isShared: true,
      rates: noFaults,
      seed: 1,
      runs: 4,
      isBrisk: true,
      limits: { maxConcurrentRuns: 1 },
    };
    const { calls, together, hadToWait } = await simulate(calm);
    expect([together, hadToWait, calls > 240]).toEqual([1, 2, true]);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) {
        const { counts } = await simulate({ ...calm, aim: { call, kind } });
        expect(counts[kind]).toBe(1);
      }
    }
  });
});
