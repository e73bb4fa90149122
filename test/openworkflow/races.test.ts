/** Concurrent processes on one store: a run has one worker at a time, and a worker that lost it can no longer write. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';
import { noon } from '../contract/samples.ts';
import { TestBackend, bad, lease, thrice } from './test-backend.ts';

/** Delays every call separately, so that calls overtake one another. */
function withRandomDelays(store: ExternalRuns, seed: number): ExternalRuns {
  let state = seed;
  const turns = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % 7;
  };
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...given: readonly unknown[]): Promise<unknown> => {
        for (let left = turns(); left > 0; left -= 1) await Promise.resolve();
        const answer: unknown = await Reflect.apply(method, target, given);
        for (let left = turns(); left > 0; left -= 1) await Promise.resolve();
        return answer;
      };
    },
  });
}

const processes = (count: number, seed: number, store: ExternalRuns = new MemoryExternalRuns()) => {
  const [clock, namespaceId] = [new MemoryClock(noon), randomUUID()];
  let draw = seed;
  const random = (): number => ((draw = (draw * 16_807) % 2_147_483_647) - 1) / 2_147_483_646;
  return Array.from(
    { length: count },
    (_, index) => new TestBackend(withRandomDelays(store, seed + index), { clock, namespaceId, random }),
  );
};

describe.each([1, 2, 3, 4, 5])('seed %i', (seed) => {
  test('eight workers with three slots each claim thirty runs, each run once', async () => {
    const all = processes(8, seed);
    const [first] = all;
    if (first === undefined) throw new Error('no process');
    const made = await Promise.all(Array.from({ length: 30 }, () => first.create()));
    const claims = await Promise.all(
      all.flatMap((testBackend, index) =>
        [0, 1, 2].map(async (slot) => {
          const mine: string[] = [];
          for (let idle = 0; idle < 3;) {
            const run = await testBackend.claim(`${index}.${slot}`);
            if (run === null) idle += 1;
            else mine.push(run.id);
          }
          return mine;
        }),
      ),
    );
    expect(claims.flat().toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    const { data } = await first.backend.listWorkflowRuns({});
    expect(data.every(({ attempts, status }) => attempts === 1 && status === 'running')).toBe(true);
  });

  test('a step completion during another worker’s claim is either before the claim, or refused', async () => {
    const [one, two] = processes(2, seed);
    if (one === undefined || two === undefined) throw new Error('no process');
    for (let round = 0; round < 10; round += 1) {
      const run = await one.claimed('old');
      const step = await one.step(run.id, { workerId: 'old' });
      one.clock.advance(durationMs(lease + 1));
      const completion = { workflowRunId: run.id, workerId: 'old', stepAttemptId: step.id, output: 'old' };
      const [done, claimed] = await Promise.allSettled([one.backend.completeStepAttempt(completion), two.claim('new')]);
      if (claimed.status === 'fulfilled' && claimed.value !== null) expect(claimed.value).toMatchObject({ workerId: 'new' });
      const seen = await two.backend.getStepAttempt({ stepAttemptId: step.id });
      expect(seen?.status).toBe(done.status === 'fulfilled' ? 'completed' : 'running');
      await two.backend.cancelWorkflowRun({ workflowRunId: run.id });
    }
  });

  test('of a concurrent completion and cancellation, one wins', async () => {
    const [one, two] = processes(2, seed);
    if (one === undefined || two === undefined) throw new Error('no process');
    const run = await one.claimed();
    const ends = await Promise.allSettled([one.complete(run.id), two.backend.cancelWorkflowRun({ workflowRunId: run.id })]);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect((await one.run(run.id)).status).toBe(ends[0].status === 'fulfilled' ? 'completed' : 'canceled');
  });

  test('a signal ends the sleep that waits for it, in either order', async () => {
    const [one, two] = processes(2, seed);
    if (one === undefined || two === undefined) throw new Error('no process');
    const run = await one.claimed();
    await one.wait(run.id, 'go');
    const send = two.backend.sendSignal({ signal: 'go', data: 1, idempotencyKey: null });
    const [sent] = await Promise.all([send, one.park(run.id, 3_600_000)]);
    expect(sent.workflowRunIds).toEqual([run.id]);
    expect((await two.claim('next'))?.id).toBe(run.id);
  });

  test('a child’s end ends the sleep of its parent, in either order', async () => {
    const [one, two] = processes(2, seed);
    if (one === undefined || two === undefined) throw new Error('no process');
    const { parent, child } = await one.family();
    await two.claim('childs');
    await Promise.all([two.complete(child.id, 'childs'), one.park(parent.id, 3_600_000)]);
    expect((await two.claim('next'))?.id).toBe(parent.id);
  });

  test('two sends with one key are one signal', async () => {
    const all = processes(4, seed);
    const [one] = all;
    if (one === undefined) throw new Error('no process');
    const run = await one.claimed();
    const wait = await one.wait(run.id, 'go');
    const send = (testBackend: TestBackend, index: number) =>
      testBackend.backend.sendSignal({ signal: 'go', data: index, idempotencyKey: 'k' });
    const answers = await Promise.all(all.map(send));
    expect(answers).toEqual(all.map(() => ({ workflowRunIds: [run.id] })));
    const delivered = await one.backend.getSignalDelivery({ stepAttemptId: wait.id });
    expect([0, 1, 2, 3]).toContain(delivered);
  });

  test('ten steps that start concurrently are ten steps', async () => {
    const [testBackend] = processes(1, seed);
    if (testBackend === undefined) throw new Error('no process');
    const run = await testBackend.claimed();
    const steps = await Promise.all(
      Array.from({ length: 10 }, (_, index) => testBackend.step(run.id, { stepName: `s${index}` })),
    );
    expect(new Set(steps.map(({ id }) => id)).size).toBe(10);
    expect((await testBackend.backend.listStepAttempts({ workflowRunId: run.id })).data).toHaveLength(10);
  });
});

/** A store that can hold its next entry back until it is released. */
function holdable(store: ExternalRuns) {
  let held: Promise<void> | undefined;
  const append: ExternalRuns['append'] = async (...given) => {
    await held;
    return store.append(...given);
  };
  return {
    store: new Proxy(store, { get: (target, name) => (name === 'append' ? append : Reflect.get(target, name).bind(target)) }),
    hold: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
  };
}

describe('an entry that is not yet written when its reminder is read', () => {
  const held = () => {
    const [clock, namespaceId, store] = [new MemoryClock(noon), randomUUID(), new MemoryExternalRuns()];
    const slow = holdable(store);
    return {
      hold: slow.hold,
      one: new TestBackend(slow.store, { clock, namespaceId }),
      other: new TestBackend(store, { clock, namespaceId }),
    };
  };

  test.each([
    ['a new run', {}],
    ['a new run that was due yesterday', { availableAt: new Date(noon - 86_400_000) }],
  ])('defers nothing: %s is claimed as soon as it is written', async (_what, facts) => {
    for (const who of ['one', 'other'] as const) {
      const all = held();
      const letThrough = all.hold();
      const creating = all.one.create(facts);
      await settled();
      expect(await all[who].claim()).toBeNull();
      letThrough();
      const { id } = await creating;
      expect((await all[who].claim())?.id).toBe(id);
    }
  });

  test('defers nothing: a briefly suspended run is claimed at its time', async () => {
    const { one, other, hold } = held();
    const run = await one.claimed();
    const letThrough = hold();
    const parking = one.park(run.id, 20);
    await settled();
    one.clock.advance(durationMs(20));
    expect(await other.claim()).toBeNull();
    letThrough();
    await parking;
    expect((await other.claim())?.id).toBe(run.id);
  });

  test('is checked again after a minute where it is not written within five seconds', async () => {
    const { one, other, hold } = held();
    const letThrough = hold();
    const creating = one.create();
    await settled();
    one.clock.advance(seconds(5));
    expect(await other.claim()).toBeNull();
    letThrough();
    const { id } = await creating;
    expect(await other.claim()).toBeNull();
    one.clock.advance(minutes(1));
    expect((await other.claim())?.id).toBe(id);
  });
});

/** Waits until everything except the held entry has finished. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('a worker whose run another has claimed cannot write, even before it has read the claim', async () => {
  const [one, two] = processes(2, 1);
  if (one === undefined || two === undefined) throw new Error('no process');
  const run = await one.claimed('old');
  const [step, call] = [
    await one.step(run.id, { workerId: 'old' }),
    await one.step(run.id, { kind: 'workflow', workerId: 'old' }),
  ];
  one.clock.advance(minutes(2));
  expect(await two.claim('new')).toMatchObject({ id: run.id, workerId: 'new', attempts: 2 });
  const old = { workflowRunId: run.id, workerId: 'old' };
  const ofStep = { ...old, stepAttemptId: step.id };
  const refused = [
    () => one.step(run.id, { workerId: 'old' }),
    () => one.backend.completeStepAttempt({ ...ofStep, output: 1 }),
    () => one.backend.failStepAttempt({ ...ofStep, error: bad }),
    () =>
      one.backend.setStepAttemptChildWorkflowRun({
        ...old,
        stepAttemptId: call.id,
        childWorkflowRunNamespaceId: one.namespaceId,
        childWorkflowRunId: run.id,
      }),
    () => one.backend.extendWorkflowRunLease({ ...old, leaseDurationMs: lease }),
    () => one.park(run.id, 1_000, 'old'),
    () => one.complete(run.id, 'old'),
    () => one.fail(run.id, thrice, 'old'),
    () => one.backend.rescheduleWorkflowRunAfterFailedStepAttempt({ ...old, error: bad, availableAt: one.at(0) }),
  ];
  for (const write of refused) await expect(write()).rejects.toThrow(/^Failed to /);
  expect(await two.run(run.id)).toMatchObject({ status: 'running', workerId: 'new' });
  expect((await two.backend.listStepAttempts({ workflowRunId: run.id })).data.map(({ status }) => status)).toEqual([
    'running',
    'running',
  ]);
  await two.complete(run.id, 'new');
});

test('an expired lease stays valid for its worker until another worker claims the run', async () => {
  const [testBackend] = processes(1, 1);
  if (testBackend === undefined) throw new Error('no process');
  const run = await testBackend.claimed('slow');
  testBackend.clock.advance(minutes(2));
  await testBackend.backend.extendWorkflowRunLease({ workflowRunId: run.id, workerId: 'slow', leaseDurationMs: lease });
  expect(await testBackend.claim('other')).toBeNull();
  testBackend.clock.advance(seconds(59));
  expect(await testBackend.claim('other')).toBeNull();
});
