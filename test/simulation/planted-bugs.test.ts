import { describe, expect, it } from 'vitest';
import type { Deps } from '../../lib/service/deps.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { chaosFaults } from './faults.ts';
import { isCaught } from './seeds.ts';
import type { SimulationOptions } from './simulation.ts';

describe('the checker catches a planted bug', () => {
  const bugs: Record<string, Partial<SimulationOptions>> = {
    'a conflicting put that counts as stored': {
      planted: (world) => ({
        ...world,
        log: overrideMethods(world.log, {
          put: async (...given) => {
            await world.log.put(...given);
            return { kind: 'stored' };
          },
        }),
      }),
    },
    'a put that overwrites a commit': { planted: overwriting },
    'no sweep': { withoutSweep: true },
    'no due entries': {
      planted: (world) => ({ ...world, index: overrideMethods(world.index, { markDue: async () => undefined }) }),
    },
    'reservations without memory': {
      planted: (world) => ({
        ...world,
        reservations: { reserve: async () => ({ kind: 'reserved' }), release: async () => undefined },
      }),
    },
    'a delivered signal that becomes available again': {
      planted: (world) => ({
        ...world,
        signals: overrideMethods(world.signals, { markTaken: (...given) => world.signals.release(...given) }),
      }),
    },
    'a claimed signal that is lost after a crash': {
      runs: 8,
      planted: (world) => ({
        ...world,
        signals: overrideMethods(world.signals, {
          read: async (place) => {
            const { waiters, signals } = await world.signals.read(place);
            return { waiters, signals: signals.filter(({ state }) => state !== 'claimed') };
          },
        }),
      }),
    },
    'waits that are not registered': {
      planted: (world) => ({ ...world, signals: overrideMethods(world.signals, { addWaiter: async () => undefined }) }),
    },
    'an end that is not projected to the head': {
      planted: (world) => ({ ...world, log: overrideMethods(world.log, { project: async () => undefined }) }),
    },
  };

  it.each(Object.entries(bugs))('%s', async (_name, bug) => {
    expect(await isCaught({ rates: chaosFaults, runs: 4, code: 0, ...bug }, 60)).toBe(true);
  });
});

/** Returns success for every put; the later put wins. */
function overwriting(world: Deps): Deps {
  const over = new Map<string, Parameters<Deps['log']['put']>[1]>();
  return {
    ...world,
    log: overrideMethods(world.log, {
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
