import { describe, expect, it } from 'vitest';
import type { Deps } from '../../lib/service/deps.ts';
import { replaced } from '../service/replaced.ts';
import { noFaults, roughWeather } from './faults.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

const seeds = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('random workflows in rough weather', () => {
  it('hold the invariants in 200 seeds, and every fault was injected', async () => {
    const totals = new Map<string, number>();
    let wakes = 0;
    let reads = 0;
    const signals = { given: 0, unmet: 0 };
    for (const seed of seeds(200)) {
      const { counts, woken, signalsGiven, waitsUnmet, eventsRead } = await simulate({ seed, rates: roughWeather });
      wakes += woken;
      reads += eventsRead;
      signals.given += signalsGiven;
      signals.unmet += waitsUnmet;
      for (const [kind, count] of Object.entries(counts)) totals.set(kind, (totals.get(kind) ?? 0) + count);
    }
    for (const [kind, count] of totals) expect(count, `${kind} was never injected`).toBeGreaterThan(100);
    expect(wakes, 'nobody was ever woken early').toBeGreaterThan(20);
    expect(reads, 'hardly anybody read along').toBeGreaterThan(5_000);
    expect(signals.given, 'hardly a signal came').toBeGreaterThan(100);
    expect(signals.unmet, 'hardly a wait was over without one').toBeGreaterThan(50);
  });

  it('give the same world for the same seed, byte for byte', async () => {
    for (const seed of seeds(10)) {
      const [one, other] = [await simulate({ seed, rates: roughWeather }), await simulate({ seed, rates: roughWeather })];
      expect(JSON.stringify(other)).toBe(JSON.stringify(one));
    }
  });
});

/** The run is over by then; what comes later are sweeps that find nothing. */
const mostOfARun = 120;

describe('budgets in rough weather', () => {
  it('are kept to the attempt and to the token, whoever dies and whatever comes twice', async () => {
    const ended = { executions: 0, tokens: 0 };
    for (const seed of seeds(60)) {
      const [maxNodeExecutions, maxTokens] = [1 + (seed % 12), 5 + (seed % 30)];
      const executions = await simulate({ seed, rates: roughWeather, limits: { budget: { maxNodeExecutions } } });
      const tokens = await simulate({ seed, rates: roughWeather, limits: { budget: { maxTokens } } });
      ended.executions += executions.overBudget;
      ended.tokens += tokens.overBudget;
    }
    expect(ended.executions, 'hardly a run came to its budget of executions').toBeGreaterThan(60);
    expect(ended.tokens, 'hardly a run came to its budget of tokens').toBeGreaterThan(40);
  });

  it('are kept wherever a process dies', async () => {
    const calm: SimulationOptions = {
      seed: 1,
      rates: noFaults,
      runs: 1,
      limits: { budget: { maxNodeExecutions: 4, maxTokens: 30 } },
    };
    const { calls, overBudget } = await simulate(calm);
    expect([overBudget, calls > mostOfARun]).toEqual([1, true]);
    for (let call = 1; call <= mostOfARun; call += 1) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) await simulate({ ...calm, aim: { call, kind } });
    }
  });
});

describe('places in rough weather', () => {
  const crowd = { rates: roughWeather, runs: 6, isShared: true } as const;

  it('are never more than there are, each for one run, and every run gets its turn', async () => {
    const together = new Map<number, number>();
    const counted = { letIn: 0, hadToWait: 0 };
    for (const seed of seeds(120)) {
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
    expect(counted.letIn).toBeGreaterThan(600);
    expect(counted.hadToWait, 'hardly a run had to wait').toBeGreaterThan(250);
  });

  it('are found and given back wherever a process dies', async () => {
    const calm: SimulationOptions = {
      ...crowd,
      rates: noFaults,
      seed: 1,
      runs: 3,
      isBrisk: true,
      limits: { maxConcurrentRuns: 1 },
    };
    const { calls, together, hadToWait } = await simulate(calm);
    expect([together, hadToWait, calls > 2 * mostOfARun]).toEqual([1, 2, true]);
    for (let call = 1; call <= 2 * mostOfARun; call += 1) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) {
        const { counts } = await simulate({ ...calm, aim: { call, kind } });
        expect(counts[kind]).toBe(1);
      }
    }
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
    const caught = async (): Promise<boolean> => {
      for (const seed of seeds(100)) {
        try {
          await simulate({ ...crowd, seed, limits: { maxConcurrentRuns: 2 }, ...bug });
        } catch (trouble) {
          expect(trouble instanceof Error ? trouble.name : trouble).toMatch(/^(Violation|InvariantViolation)$/);
          return true;
        }
      }
      return false;
    };
    expect(await caught()).toBe(true);
  });
});

describe('a crash at every port call', () => {
  // Among these the 38th goes through loops.
  it.each([...seeds(3), 38])('leaves nothing lost and nothing done twice: workflow of seed %i', async (seed) => {
    const calm: SimulationOptions = { seed, rates: noFaults, runs: 1 };
    const { calls } = await simulate(calm);
    expect(calls).toBeGreaterThan(20);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['crashBefore', 'crashAfter'] as const) {
        const { counts } = await simulate({ ...calm, aim: { call, kind } });
        expect(counts[kind]).toBe(1);
      }
    }
  });
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

describe('the checker catches a planted bug', () => {
  const bugs: Record<string, Partial<SimulationOptions>> = {
    'a refused put taken for a win': {
      planted: (world) => ({
        ...world,
        log: replaced(world.log, {
          put: async (...given) => {
            await world.log.put(...given);
            return { kind: 'stored' };
          },
        }),
      }),
    },
    'a put that does not ask whether the slot is free': { planted: overwriting },
    'no sweep': { withoutSweep: true },
    'no due entries': { planted: (world) => ({ ...world, index: replaced(world.index, { markDue: async () => undefined }) }) },
    'reservations that forget': {
      planted: (world) => ({
        ...world,
        reservations: { reserve: async () => ({ kind: 'reserved' }), release: async () => undefined },
      }),
    },
    'a signal that is free again once it is given': {
      planted: (world) => ({
        ...world,
        signals: replaced(world.signals, { take: (...given) => world.signals.release(...given) }),
      }),
    },
    'a signal that is given up once its claimer is dead': {
      planted: (world) => ({
        ...world,
        signals: replaced(world.signals, {
          at: async (place) => {
            const { waiters, signals } = await world.signals.at(place);
            return { waiters, signals: signals.filter(({ state }) => state !== 'claimed') };
          },
        }),
      }),
    },
    'waits that are entered nowhere': {
      planted: (world) => ({ ...world, signals: replaced(world.signals, { enter: async () => undefined }) }),
    },
    'a head that is never told of the end': {
      planted: (world) => ({ ...world, log: replaced(world.log, { project: async () => undefined }) }),
    },
  };

  it.each(Object.entries(bugs))('%s', async (_name, bug) => {
    const caught = async (): Promise<boolean> => {
      for (const seed of seeds(300)) {
        try {
          await simulate({ seed, rates: roughWeather, ...bug });
        } catch (trouble) {
          // Any other error would be a fault of the simulation, which must not pass for a catch.
          expect(trouble instanceof Error ? trouble.name : trouble).toMatch(/^(Violation|InvariantViolation)$/);
          return true;
        }
      }
      return false;
    };
    expect(await caught()).toBe(true);
  });
});

/** Answers every put with success, and lets the later one stand. */
function overwriting(world: Deps): Deps {
  const over = new Map<string, Parameters<Deps['log']['put']>[1]>();
  return {
    ...world,
    log: replaced(world.log, {
      put: async (run, commit, expiresAt) => {
        const result = await world.log.put(run, commit, expiresAt);
        if (result.kind === 'occupied') over.set(`${run.runId}#${commit.number}`, commit);
        return { kind: 'stored' };
      },
      commitsAfter: async (run, from) =>
        (await world.log.commitsAfter(run, from)).map((commit) => over.get(`${run.runId}#${commit.number}`) ?? commit),
    }),
  };
}
