/** Crashes that are aimed: at each port call from the start of a run until its world is at rest. */
import { describe, expect, it } from 'vitest';
import { noFaults } from './faults.ts';
import { seeds } from './seeds.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

describe('a crash at every port call', () => {
  /** Workflows, one each, by their seed; `code` as code. */
  const graph = (seed: number): SimulationOptions => ({ seed, rates: noFaults, runs: 1, code: 0 });
  const code = (seed: number): SimulationOptions => ({ seed, rates: noFaults, runs: 1, code: 1 });
  const [awaitsASignal, goesThroughLoops] = [graph(1), graph(27)];
  const [codeThatIsUndone, codeThatAwaitsASignal] = [code(53), code(3)];

  it('is also one while a signal is given, one within the passes of loops, and one while steps are undone', async () => {
    expect((await simulate(awaitsASignal)).signalsGiven).toBeGreaterThan(0);
    expect((await simulate(goesThroughLoops)).inPasses).toBeGreaterThan(20);
    expect((await simulate(codeThatIsUndone)).rolledBack).toBeGreaterThan(1);
    expect((await simulate(codeThatAwaitsASignal)).signalsGiven).toBeGreaterThan(0);
  });

  it.each([
    ['a graph', graph(3)],
    ['a graph that awaits a signal', awaitsASignal],
    ['a graph that goes through loops', goesThroughLoops],
    ['code', code(16)],
    ['code that is undone', codeThatIsUndone],
    ['code that awaits a signal', codeThatAwaitsASignal],
  ])('leaves nothing lost and nothing done twice: %s', async (_what, calm) => {
    const { calls } = await simulate(calm);
    expect(calls).toBeGreaterThan(20);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) {
        const { counts } = await simulate({ ...calm, aims: [{ call, kind }] });
        expect(counts[kind]).toBe(1);
      }
    }
  });
});

describe('a worker that is killed', () => {
  it.each(seeds(3).flatMap((seed) => [[seed, 'graph', 0] as const, [seed, 'code', 1] as const]))(
    'has its run moving again within three minutes, wherever it was killed: workflow of seed %i, %s',
    async (seed, _kind, code) => {
      const brisk: SimulationOptions = { seed, rates: noFaults, runs: 1, isBrisk: true, code };
      const { calls } = await simulate(brisk);
      for (let call = 1; call <= calls; call += 1) {
        const { longestStillMs } = await simulate({ ...brisk, aims: [{ call, kind: 'crashAfter' }] });
        expect(longestStillMs, `killed after call ${call}`).toBeLessThanOrEqual(180_000);
      }
    },
  );
});

describe('budgets', () => {
  it('are kept wherever a process dies', async () => {
    const calm: SimulationOptions = {
      seed: 22,
      rates: noFaults,
      runs: 1,
      code: 0,
      limits: { budget: { maxNodeExecutions: 4, maxTokens: 30 } },
    };
    const { calls, overBudget } = await simulate(calm);
    expect([overBudget, calls > 120]).toEqual([1, true]);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) await simulate({ ...calm, aims: [{ call, kind }] });
    }
  });
});

describe('places', () => {
  it('are found and given back wherever a process dies', async () => {
    const calm: SimulationOptions = {
      isShared: true,
      rates: noFaults,
      seed: 3,
      runs: 4,
      isBrisk: true,
      code: 0,
      limits: { maxConcurrentRuns: 1 },
    };
    const { calls, together, hadToWait } = await simulate(calm);
    expect([together, hadToWait, calls > 240]).toEqual([1, 2, true]);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) {
        const { counts } = await simulate({ ...calm, aims: [{ call, kind }] });
        expect(counts[kind]).toBe(1);
      }
    }
  });
});
