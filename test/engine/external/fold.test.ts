/** The changes of each entry of an external-worker run's log to the run, its steps and their waits; and impossible logs. */
import { describe, expect, test } from 'vitest';
import { type ExternalFact, inSequence } from '../../../lib/engine/external/entry.ts';
import { foldExternal } from '../../../lib/engine/external/fold.ts';
import { stepAttemptId, endOfLife, retainUntil, hasEnded, externalStatuses } from '../../../lib/engine/external/run.ts';
import { after, days, instant, minutes, seconds } from '../../../lib/engine/time.ts';
import { dawn } from '../graph-run-fixture.ts';
import { ExternalRunFixture, creation, lease, nonceOf, theRun } from './external-run-fixture.ts';

const broke = { message: 'no', name: 'Broken' };
const child = { namespaceId: 'home', runId: 'a child' };
const claimedBy = (workerId: string): ExternalFact => ({ type: 'claimed', workerId, leaseUntil: after(dawn, lease) });

describe('a run', () => {
  test('begins as created, pending and unclaimed', () => {
    expect(foldExternal(theRun, undefined, [])).toBeUndefined();
    expect(new ExternalRunFixture().state).toEqual({
      run: {
        ...creation,
        id: theRun,
        status: 'pending',
        output: null,
        error: null,
        attempts: 0,
        workerId: null,
        startedAt: null,
        finishedAt: null,
        createdAt: dawn,
        updatedAt: dawn,
      },
      steps: new Map(),
      deliveries: new Map(),
      endedChildren: new Map(),
      last: 1,
      nextCheck: { at: dawn, nonce: nonceOf(1), number: 1 },
    });
  });

  test('belongs to its claimant, counts its claims, and started with the first one', () => {
    const run = new ExternalRunFixture();
    const created = run.run;
    run.later(seconds(1)).claimed();
    const first = run.now;
    const availableAt = after(first, lease);
    const claimed = {
      ...created,
      status: 'running',
      attempts: 1,
      workerId: 'one',
      availableAt,
      startedAt: first,
      updatedAt: first,
    };
    expect(run.run).toEqual(claimed);
    run.later(minutes(1)).claimed('two');
    const again = { attempts: 2, workerId: 'two', availableAt: after(run.now, lease), updatedAt: run.now };
    expect(run.run).toEqual({ ...claimed, ...again });
  });

  const later = after(dawn, minutes(9));
  test.each<[string, ExternalFact, object]>([
    ['has its lease extended', { type: 'lease-extended', leaseUntil: later }, { availableAt: later }],
    ['is suspended', { type: 'suspended', availableAt: later }, { availableAt: later, workerId: null }],
    [
      'has completed',
      { type: 'completed', output: [1] },
      { status: 'completed', output: [1], availableAt: null, finishedAt: after(dawn, seconds(5)) },
    ],
    [
      'has failed',
      { type: 'failed', error: broke },
      { status: 'failed', error: broke, workerId: null, availableAt: null, startedAt: null, finishedAt: after(dawn, seconds(5)) },
    ],
    [
      'has expired',
      { type: 'expired' },
      {
        status: 'failed',
        error: { message: 'Workflow run deadline exceeded' },
        workerId: null,
        availableAt: null,
        finishedAt: after(dawn, seconds(5)),
      },
    ],
    [
      'is cancelled',
      { type: 'cancelled' },
      { status: 'cancelled', workerId: null, availableAt: null, finishedAt: after(dawn, seconds(5)) },
    ],
    [
      'is rescheduled',
      { type: 'rescheduled', error: broke, availableAt: later },
      { status: 'pending', error: broke, availableAt: later, workerId: null, startedAt: null },
    ],
  ])('that %s', (_what, fact, changes) => {
    const run = new ExternalRunFixture().claimed();
    const before = run.state;
    run.later(seconds(5)).put(fact);
    expect(run.run).toEqual({ ...before.run, updatedAt: after(dawn, seconds(5)), ...changes });
    expect(run.state).toMatchObject({ steps: before.steps, deliveries: before.deliveries, endedChildren: before.endedChildren });
  });

  test('that completes after a failure has no error', () => {
    const run = new ExternalRunFixture().claimed().put({ type: 'rescheduled', error: broke, availableAt: dawn });
    expect(run.claimed().put({ type: 'completed', output: null }).run).toMatchObject({ status: 'completed', error: null });
  });
});

describe('a step', () => {
  const begun = (): readonly [ExternalRunFixture, ReturnType<ExternalRunFixture['begins']>] => {
    const run = new ExternalRunFixture().claimed();
    return [run, run.later(seconds(1)).begins('function')];
  };
  const asBegun = {
    id: stepAttemptId(theRun, 3),
    stepName: 'step-2',
    kind: 'function',
    status: 'running',
    config: {},
    context: null,
    output: null,
    error: null,
    child: null,
    startedAt: after(dawn, seconds(1)),
    finishedAt: null,
    updatedAt: after(dawn, seconds(1)),
  };

  test('is identified by its fact, and leaves the run unchanged', () => {
    const [run, step] = begun();
    expect([...run.state.steps]).toEqual([[step, asBegun]]);
    expect(run.run).toEqual(new ExternalRunFixture().claimed().run);
  });

  test.each<[string, (id: typeof asBegun.id) => ExternalFact, object]>([
    [
      'is done',
      (id) => ({ type: 'step-completed', stepAttemptId: id, output: 7 }),
      { status: 'completed', output: 7, finishedAt: after(dawn, seconds(3)) },
    ],
    [
      'has failed',
      (id) => ({ type: 'step-failed', stepAttemptId: id, error: broke }),
      { status: 'failed', error: broke, finishedAt: after(dawn, seconds(3)) },
    ],
    ['has started a child run', (id) => ({ type: 'child-linked', stepAttemptId: id, child }), { child }],
  ])('that %s', (_what, fact, changes) => {
    const [run, step] = begun();
    const other = run.begins('sleep');
    run.later(seconds(2)).put(fact(step));
    expect(run.state.steps.get(step)).toEqual({ ...asBegun, updatedAt: after(dawn, seconds(3)), ...changes });
    expect([...run.state.steps.keys()]).toEqual([step, other]);
    expect(run.state.steps.get(other)).toMatchObject({ status: 'running', child: null, updatedAt: after(dawn, seconds(1)) });
  });
});

describe('the waits of a run', () => {
  const suspendedUntil = after(dawn, minutes(9));
  const suspended = () => {
    const run = new ExternalRunFixture().claimed();
    const [wait, call] = [run.begins('signal-wait'), run.begins('workflow')];
    run.put({ type: 'suspended', availableAt: suspendedUntil }).later(seconds(4));
    return { run, wait, call };
  };

  test('are ended by a signal, which wakes the run', () => {
    const { run, wait } = suspended();
    const before = run.run;
    run.put({ type: 'signal-delivered', waits: [wait], data: 'yes', sendId: 's-1' });
    expect([...run.state.deliveries]).toEqual([[wait, { data: 'yes', sendId: 's-1' }]]);
    expect(run.run).toEqual({ ...before, availableAt: run.now, updatedAt: run.now });
  });

  test('are ended by a child, which wakes the run', () => {
    const { run, call } = suspended();
    const before = run.run;
    run.put({ type: 'child-ended', stepAttemptId: call, child });
    expect([...run.state.endedChildren]).toEqual([[call, child]]);
    expect(run.run).toEqual({ ...before, availableAt: run.now, updatedAt: run.now });
  });

  test('keep earlier signals and children', () => {
    const { run, wait, call } = suspended();
    const other = stepAttemptId(theRun, 99);
    run.put({ type: 'signal-delivered', waits: [wait], data: 1, sendId: 's-1' });
    run.put({ type: 'signal-delivered', waits: [other], data: 2, sendId: 's-2' });
    run.put({ type: 'child-ended', stepAttemptId: call, child }, { type: 'child-ended', stepAttemptId: other, child });
    expect([...run.state.deliveries.keys()]).toEqual([wait, other]);
    expect([...run.state.endedChildren.keys()]).toEqual([call, other]);
  });

  test.each<[string, ExternalFact]>([
    ['another worker holds', claimedBy('two')],
    ['is due', { type: 'rescheduled', error: broke, availableAt: dawn }],
    ['has ended', { type: 'cancelled' }],
  ])('do not wake a run that %s', (_what, fact) => {
    const { run, wait, call } = suspended();
    const before = run.put(fact).run;
    run.later(seconds(1)).put({ type: 'signal-delivered', waits: [wait], data: 1, sendId: 's-1' });
    run.put({ type: 'child-ended', stepAttemptId: call, child });
    expect(run.run).toEqual(before);
  });

  test('change nothing in a run that is due now', () => {
    const { run, wait } = suspended();
    const before = run.put({ type: 'suspended', availableAt: after(run.now, seconds(1)) }).run;
    run.later(seconds(1)).put({ type: 'signal-delivered', waits: [wait], data: 1, sendId: 's-1' });
    expect(run.run).toEqual(before);
  });
});

describe('the next check of a run', () => {
  test('is set by the entry that changed it, and stays while it does not change', () => {
    const run = new ExternalRunFixture().claimed();
    const at = after(dawn, lease);
    expect(run.state.nextCheck).toEqual({ at, nonce: nonceOf(2), number: 2 });
    run.begins('function');
    run.put({ type: 'lease-extended', leaseUntil: at });
    expect(run.state.nextCheck).toEqual({ at, nonce: nonceOf(2), number: 2 });
    run.put({ type: 'lease-extended', leaseUntil: after(at, lease) });
    expect(run.state.nextCheck).toEqual({ at: after(at, lease), nonce: nonceOf(5), number: 5 });
  });

  test('is at the deadline, if that comes first', () => {
    const deadlineAt = after(dawn, seconds(10));
    expect(new ExternalRunFixture({ deadlineAt }).claimed().state.nextCheck?.at).toBe(deadlineAt);
    expect(new ExternalRunFixture({ deadlineAt: after(dawn, minutes(1)) }).claimed().state.nextCheck?.at).toBe(
      after(dawn, lease),
    );
  });

  test('is undefined once the run has ended', () => {
    const run = new ExternalRunFixture().put({ type: 'cancelled' });
    expect(run.state.nextCheck).toBeUndefined();
    expect(run.put({ type: 'cancelled' }).state.nextCheck).toBeUndefined();
  });
});

describe('an entry of several facts', () => {
  const begun: ExternalFact = { type: 'step-begun', stepName: 's', kind: 'workflow', config: {}, context: null };
  const later = after(dawn, minutes(1));
  const suspended: ExternalFact = { type: 'suspended', availableAt: later };

  test('folds like its facts one by one, each with its own number', () => {
    const single = new ExternalRunFixture().claimed().put(begun, begun);
    const [created, claimed] = single.entries;
    if (created === undefined || claimed === undefined) throw new Error('two entries are needed');
    const shared = [created, claimed, { ...claimed, number: 3, nonce: nonceOf(3), facts: [begun, begun] }];
    expect(foldExternal(theRun, undefined, shared)).toEqual(single.state);
    expect([...single.state.steps.keys()]).toEqual([stepAttemptId(theRun, 3), stepAttemptId(theRun, 4)]);
  });

  test('sets the next check by the fact that changed it', () => {
    const run = new ExternalRunFixture().claimed().put(begun, begun, suspended);
    const ended = (number: number): ExternalFact => ({
      type: 'child-ended',
      stepAttemptId: stepAttemptId(theRun, number),
      child,
    });
    const entry = { number: 6, nonce: nonceOf(6), at: dawn, facts: [ended(3), ended(4)] };
    const state = foldExternal(theRun, run.state, [entry]);
    expect(state).toMatchObject({ last: 7, nextCheck: { at: dawn, nonce: nonceOf(6), number: 6 } });
    expect(state?.endedChildren.size).toBe(2);
  });

  test('is followed by the entry after its last fact, and anything else is a gap', () => {
    const entry = (number: number, count: number) => ({
      number,
      nonce: nonceOf(number),
      at: dawn,
      facts: Array.from({ length: count }, () => begun),
    });
    const whole = [entry(5, 1), entry(6, 3), entry(9, 2), entry(11, 1)];
    expect(inSequence(whole, 4)).toEqual(whole);
    expect(inSequence([entry(5, 1), entry(6, 3), entry(10, 1)], 4)).toEqual(whole.slice(0, 2));
    expect(inSequence(whole, 3)).toEqual([]);
    expect(inSequence([], 3)).toEqual([]);
  });
});

describe('an impossible log', () => {
  const [created, claimed] = new ExternalRunFixture().claimed().entries;
  if (created === undefined || claimed === undefined) throw new Error('two entries are needed');
  const { state } = new ExternalRunFixture();

  test('has a gap, or an entry twice', () => {
    expect(() => foldExternal(theRun, state, [{ ...claimed, number: 3 }])).toThrow(`fact 3 of run ${theRun} comes after 1`);
    expect(() => foldExternal(theRun, state, [{ ...claimed, number: 1 }])).toThrow(`fact 1 of run ${theRun} comes after 1`);
    expect(() => foldExternal(theRun, undefined, [{ ...created, number: 2 }])).toThrow(`fact 2 of run ${theRun} comes after 0`);
  });

  test('begins with a fact other than the creation, or has two creations', () => {
    expect(() => foldExternal(theRun, undefined, [{ ...claimed, number: 1 }])).toThrow(`run ${theRun} begins with claimed`);
    expect(() => foldExternal(theRun, state, [{ ...created, number: 2 }])).toThrow(`run ${theRun} is created twice`);
  });

  test('ends a step that never began', () => {
    const unknownStep = stepAttemptId(theRun, 9);
    const fact: ExternalFact = { type: 'step-completed', stepAttemptId: unknownStep, output: null };
    expect(() => foldExternal(theRun, state, [{ ...claimed, facts: [fact] }])).toThrow(
      `run ${theRun} has no step attempt ${unknownStep}`,
    );
  });
});

describe('the lifetime of a run', () => {
  test('ends at its deadline, or after 400 days, and its records are stored for 30 days after its latest end', () => {
    const deadlineAt = after(dawn, days(2));
    expect(endOfLife({ createdAt: dawn, deadlineAt })).toBe(deadlineAt);
    expect(retainUntil({ createdAt: dawn, deadlineAt })).toBe(after(dawn, days(33)));
    expect(endOfLife({ createdAt: dawn, deadlineAt: null })).toBe(after(dawn, days(400)));
    expect(retainUntil({ createdAt: dawn, deadlineAt: null })).toBe(after(dawn, days(431)));
  });

  test('that ends before its creation counts from the creation', () => {
    expect(retainUntil({ createdAt: dawn, deadlineAt: instant(dawn - 1_000) })).toBe(after(dawn, days(31)));
  });

  test('is over in three of its statuses', () => {
    expect(externalStatuses.filter((status) => hasEnded({ status }))).toEqual(['completed', 'failed', 'cancelled']);
    expect(externalStatuses.filter((status) => !hasEnded({ status }))).toEqual(['pending', 'running']);
  });
});
