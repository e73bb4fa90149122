import { describe, expect, test } from 'vitest';
import { firstRotatingSeed, rotatingPart } from '../../tier.ts';
import { noFaults } from '../faults.ts';
import { checkDevKitSeeds } from './devkit-seeds.ts';
import type { Plan } from './plan.ts';
import { simulateDevKit } from './simulate-devkit.ts';

const rotating = 60;

describe('runs of the Workflow DevKit keep the invariants', () => {
  test.each([
    ['none', 40],
    ['chaos', 60],
    ['right clocks', 60],
    ['stragglers', 30],
    ['lost deliveries', 20],
    ['frozen processes', 30],
    ['throttled stores', 30],
  ] as const)("with the faults '%s', %i seeds", (profile, count) => checkDevKitSeeds({ profile, from: 1, count }));

  test('with all faults, at seeds that change with the day and the commit', () =>
    checkDevKitSeeds({ profile: 'chaos', from: firstRotatingSeed(rotating), count: rotating }));
});

/** Each kind of event once, in an order that a crash can cut anywhere. */
const everything: Omit<Plan, 'line' | 'isHosted'> = {
  stages: [
    { kind: 'attribute' },
    {
      kind: 'steps',
      steps: [
        { ms: 50, failures: 1, mostAttempts: 9 },
        { ms: 20, failures: 0, mostAttempts: 9, isLarge: true },
      ],
    },
    { kind: 'hook', token: 'order', payloads: 1, ms: 30_000, disposes: true },
    { kind: 'sleep', ms: 3_000 },
  ],
  end: 'run_completed',
};

/** A run of the tier crashes at a quarter of the calls, which changes with the day and the commit. */
describe('a crash at any call', () => {
  test.each([
    ['flow and step', true],
    ['flow and step', false],
    ['inline', true],
    ['inline', false],
  ] as const)('of a run in the line %s, hosted: %s', async (line, isHosted) => {
    const run = { seed: 3, rates: { ...noFaults, cancelled: 0 }, runs: 1, plans: [{ ...everything, line, isHosted }] };
    const { calls } = await simulateDevKit(run);
    expect(calls).toBeGreaterThan(100);
    const { from, count } = rotatingPart(calls, 4);
    for (let call = from; call < from + count; call += 1)
      for (const kind of ['crashBefore', 'crashAfter'] as const)
        await simulateDevKit({ ...run, crashPoints: [{ call, kind }] }).catch((cause: unknown) => {
          throw new Error(`${kind} at call ${call}`, { cause });
        });
  });
});
