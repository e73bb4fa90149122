/** Crashes at each port call, with checks beyond those of the crash matrix. */
import { describe, expect, it } from 'vitest';
import { noFaults } from './faults.ts';
import { scenarios } from './scenarios.ts';
import { seeds } from './seeds.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

describe('a worker that is killed', () => {
  it.each(seeds(3).flatMap((seed) => [[seed, 'graph', 0] as const, [seed, 'code', 1] as const]))(
    'has its run moving again within three minutes, wherever it was killed: workflow of seed %i, %s',
    async (seed, _kind, code) => {
      const brisk: SimulationOptions = { seed, rates: noFaults, runs: 1, isBrisk: true, code };
      const { calls } = await simulate(brisk);
      for (let call = 1; call <= calls; call += 1) {
        const { maxStallMs } = await simulate({ ...brisk, crashPoints: [{ call, kind: 'crashAfter' }] });
        expect(maxStallMs, `killed after call ${call}`).toBeLessThanOrEqual(180_000);
      }
    },
  );
});

describe('a scenario holds for a crash at any call:', () => {
  it.each(Object.entries(scenarios))('%s', async (_name, play) => {
    await expect(play()).resolves.toBeUndefined();
  });
});

describe('budgets', () => {
  it.each([
    [22, 100],
    [25, 120],
  ])('are kept for a crash at any call: workflow of seed %i', async (seed, leastCalls) => {
    const calm: SimulationOptions = {
      seed,
      rates: noFaults,
      runs: 1,
      code: 0,
      limits: { budget: { maxNodeExecutions: 4, maxTokens: 30 } },
    };
    const { calls, overBudget } = await simulate(calm);
    expect([overBudget, calls > leastCalls]).toEqual([1, true]);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) await simulate({ ...calm, crashPoints: [{ call, kind }] });
    }
  });
});

describe('concurrency slots', () => {
  it.each([1, 2, 3, 4])('are acquired and released for a crash at any call: part %s of 4', async (part) => {
    const calm: SimulationOptions = {
      isShared: true,
      rates: noFaults,
      seed: 24,
      runs: 5,
      isBrisk: true,
      code: 0,
      limits: { maxConcurrentRuns: 1 },
    };
    const { calls, together, awaitedSlot } = await simulate(calm);
    expect([together, awaitedSlot, calls > 240]).toEqual([1, 4, true]);
    for (let call = part; call <= calls; call += 4) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) {
        const { counts } = await simulate({ ...calm, crashPoints: [{ call, kind }] });
        expect(counts[kind]).toBe(1);
      }
    }
  });
});
