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
        { ms: 20, failures: 0, mostAttempts: 9 },
      ],
    },
    { kind: 'hook', token: 'order', payloads: 1, ms: 30_000, disposes: true },
    { kind: 'sleep', ms: 3_000 },
  ],
  end: 'run_completed',
};

/** A result that is stored in the bucket. It takes so much longer to simulate that a run has nothing else. */
const largeResult: Omit<Plan, 'line' | 'isHosted'> = {
  stages: [{ kind: 'steps', steps: [{ ms: 20, failures: 0, mostAttempts: 9, isLarge: true }] }],
  end: 'run_completed',
};

/** CI crashes a run at an eighth of the calls, which changes with the day and the commit. */
describe('a crash at any call', () => {
  test.each([
    ['flow and step', true, 'everything', everything],
    ['flow and step', false, 'everything', everything],
    ['inline', true, 'everything', everything],
    ['inline', false, 'everything', everything],
    ['flow and step', true, 'a large result', largeResult],
    ['inline', false, 'a large result', largeResult],
  ] as const)('of a run in the line %s, hosted: %s, with %s', async (line, isHosted, _name, plan) => {
    const run = { seed: 3, rates: { ...noFaults, cancelled: 0 }, runs: 1, plans: [{ ...plan, line, isHosted }] };
    const { calls } = await simulateDevKit(run);
    expect(calls).toBeGreaterThan(20);
    const { from, count } = rotatingPart(calls, 8);
    for (let call = from; call < from + count; call += 1)
      for (const kind of ['crashBefore', 'crashAfter'] as const)
        await simulateDevKit({ ...run, crashPoints: [{ call, kind }] }).catch((cause: unknown) => {
          throw new Error(`${kind} at call ${call}`, { cause });
        });
  });
});
