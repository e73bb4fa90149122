import { describe, expect, it } from 'vitest';
import { nonce } from '../../lib/engine/ids.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { inTier } from '../tier.ts';
import { noFaults, chaosFaults } from './faults.ts';
import { seeds } from './seeds.ts';
import { runEventLevels } from '../../lib/engine/run-events.ts';
import { type SimulationOptions, simulate } from './simulation.ts';

describe('random workflows with all faults', () => {
  it('give the same commits and heads for the same seed, byte for byte', async () => {
    for (const seed of seeds(10)) {
      const [one, other] = [await simulate({ seed, rates: chaosFaults }), await simulate({ seed, rates: chaosFaults })];
      expect(JSON.stringify(other)).toBe(JSON.stringify(one));
    }
  });

  it('give another history when one commit differs and all counts are equal', async () => {
    const calm: SimulationOptions = { seed: 1, rates: noFaults, code: 0 };
    let puts = 0;
    const otherwise = (world: Deps): Deps => ({
      ...world,
      log: overrideMethods(world.log, {
        put: (run, commit, expiresAt) => {
          puts += 1;
          return world.log.put(run, puts === 5 ? { ...commit, nonce: nonce('another') } : commit, expiresAt);
        },
      }),
    });
    const { history: one, ...counted } = await simulate({ ...calm, planted: (world) => world });
    const { history: other, ...again } = await simulate({ ...calm, planted: otherwise });
    expect(again).toEqual(counted);
    expect(other).not.toBe(one);
  });
});

describe.each(runEventLevels)('with the setting runEvents: %s, and all faults', (runEvents) => {
  const count = inTier({ quick: 15, deep: 60 });

  it('the bus gets each status change that the owner asked for, and no other', async () => {
    let published = 0;
    const counted = (world: Deps): Deps => ({
      ...world,
      notices: overrideMethods(world.notices, {
        runStatusChanged: (notice) => {
          published += 1;
          return world.notices.runStatusChanged(notice);
        },
      }),
    });
    for (const seed of seeds(count)) await simulate({ seed, rates: chaosFaults, runEvents, planted: counted });
    if (runEvents === 'none') expect(published).toBe(0);
    else expect(published).toBeGreaterThan(count / 3);
  });
});

describe('budgets with all faults', () => {
  const count = inTier({ quick: 20, deep: 60 });

  it('are kept to the attempt and to the token, with crashes and duplicates', async () => {
    const ended = { executions: 0, tokens: 0 };
    for (const seed of seeds(count)) {
      const [maxNodeExecutions, maxTokens] = [1 + (seed % 12), 5 + (seed % 30)];
      const executions = await simulate({
        seed,
        rates: chaosFaults,
        runs: 4,
        code: 0,
        limits: { budget: { maxNodeExecutions } },
      });
      const tokens = await simulate({ seed, rates: chaosFaults, runs: 4, code: 0, limits: { budget: { maxTokens } } });
      ended.executions += executions.overBudget;
      ended.tokens += tokens.overBudget;
    }
    expect(ended.executions, 'hardly a run came to its budget of executions').toBeGreaterThan(count);
    expect(ended.tokens, 'hardly a run came to its budget of tokens').toBeGreaterThan((2 * count) / 3);
  });
});
