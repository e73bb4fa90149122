/** Requests about external-worker runs: who may make them, what changes nothing, and which fact is committed. */
import { describe, expect, test } from 'vitest';
import {
  type Decision,
  type FailureReport,
  decideCancel,
  decideChildEnd,
  decideClaim,
  decideCompletion,
  decideDelivery,
  decideFailure,
  decideLease,
  decideLink,
  decideSuspend,
  decideReschedule,
  decideStep,
  decideStepCompletion,
  decideStepFailure,
  openWaits,
} from '../../../lib/engine/external/decide.ts';
import type { ExternalState } from '../../../lib/engine/external/fold.ts';
import { stepAttemptId } from '../../../lib/engine/external/run.ts';
import { after, durationMs, hours, seconds } from '../../../lib/engine/time.ts';
import { dawn } from '../graph-run-fixture.ts';
import { ExternalRunFixture, commits, lease, refused, retry, unchanged, theRun } from './external-run-fixture.ts';

const broke = { message: 'no' };
const child = { namespaceId: 'home', runId: 'a child' };
const unknownStep = stepAttemptId(theRun, 99);
const waitFor = (signal: string) => ({ kind: 'signal-wait', signal, timeoutAt: '' }) as const;
const tooLate = commits({ type: 'failed', error: { message: 'Workflow run deadline exceeded' } });

describe('a claim', () => {
  test('is granted for a run that is due, for the duration of the lease', () => {
    const run = new ExternalRunFixture({ availableAt: after(dawn, seconds(5)) });
    const claim = () => decideClaim(run.state, 'one', lease, run.now);
    run.later(durationMs(4_999));
    expect(claim()).toEqual(refused);
    run.later(durationMs(1));
    expect(claim()).toEqual(commits({ type: 'claimed', workerId: 'one', leaseUntil: after(run.now, lease) }));
  });

  test('takes a run from its worker once the lease has expired, and not before', () => {
    const run = new ExternalRunFixture().claimed();
    run.later(durationMs(lease - 1));
    expect(decideClaim(run.state, 'two', lease, run.now)).toEqual(refused);
    run.later(durationMs(1)).claimed('two');
    expect(run.run).toMatchObject({ workerId: 'two', attempts: 2 });
  });

  test('fails a run whose lifetime is over, whether it is due or not', () => {
    const run = new ExternalRunFixture({ deadlineAt: after(dawn, seconds(9)), availableAt: after(dawn, hours(1)) });
    const claim = () => decideClaim(run.state, 'one', lease, run.now);
    run.later(durationMs(8_999));
    expect(claim()).toEqual(refused);
    run.later(durationMs(1));
    expect(claim()).toEqual(commits({ type: 'expired' }));
    expect(decideClaim(run.put({ type: 'expired' }).state, 'one', lease, run.now)).toEqual(refused);
  });
});

describe('requests that only the run’s worker may make', () => {
  const failure: Omit<FailureReport, 'workerId'> = { error: broke, retry, attempts: undefined, deadlineAt: undefined };
  const asked = (state: ExternalState, workerId: string): readonly Decision[] => {
    const step = [...state.steps.keys()][0] ?? 'none';
    const request = { workerId, stepAttemptId: step };
    return [
      decideLease(state, workerId, lease, dawn),
      decideSuspend(state, workerId, dawn, dawn),
      decideCompletion(state, workerId, 7),
      decideFailure(state, { ...failure, workerId }, dawn),
      decideReschedule(state, workerId, broke, dawn),
      decideStep(state, workerId, { stepName: 'next', kind: 'function', config: {}, context: null }),
      decideStepCompletion(state, request, 8),
      decideStepFailure(state, request, broke),
      decideLink(state, request, child),
    ];
  };
  const withStep = () => {
    const run = new ExternalRunFixture().claimed();
    return { run, step: run.begins('workflow') };
  };

  test('are granted to the worker that holds the run', () => {
    const { run, step } = withStep();
    const granted = [
      commits({ type: 'lease-extended', leaseUntil: after(dawn, lease) }),
      commits({ type: 'suspended', availableAt: dawn }),
      commits({ type: 'completed', output: 7 }),
      commits({ type: 'rescheduled', error: broke, availableAt: after(dawn, seconds(1)) }),
      commits({ type: 'rescheduled', error: broke, availableAt: dawn }),
      commits({ type: 'step-begun', stepName: 'next', kind: 'function', config: {}, context: null }),
      commits({ type: 'step-completed', stepAttemptId: step, output: 8 }),
      commits({ type: 'step-failed', stepAttemptId: step, error: broke }),
      commits({ type: 'child-linked', stepAttemptId: step, child }),
    ];
    expect(asked(run.state, 'one')).toEqual(granted);
    // No other worker has claimed it.
    expect(asked(run.later(hours(1)).state, 'one')).toEqual(granted);
  });

  test.each<[string, string, (run: ExternalRunFixture) => ExternalRunFixture]>([
    ['another', 'two', (run) => run],
    ['a worker whose run another one has claimed', 'one', (run) => run.later(lease).claimed('two')],
    ['a worker that has suspended the run', 'one', (run) => run.put({ type: 'suspended', availableAt: dawn })],
    ['a worker whose run is rescheduled', 'one', (run) => run.put({ type: 'rescheduled', error: broke, availableAt: dawn })],
    ['a worker whose run has completed', 'one', (run) => run.put({ type: 'completed', output: null })],
    ['a worker whose run is cancelled', 'one', (run) => run.put({ type: 'cancelled' })],
  ])('%s is refused', (_who, workerId, happens) => {
    expect(new Set(asked(happens(withStep().run).state, workerId))).toEqual(new Set([refused]));
  });
});

describe('a run that is suspended', () => {
  const until = after(dawn, hours(1));
  const parks = (run: ExternalRunFixture) => decideSuspend(run.state, 'one', until, run.now);
  const dueAt = (availableAt: typeof dawn) => commits({ type: 'suspended', availableAt });

  test('is due at the requested time', () => {
    const run = new ExternalRunFixture().claimed();
    expect(parks(run)).toEqual(dueAt(until));
    run.begins('function');
    run.begins('signal-wait', waitFor('go'));
    run.begins('workflow');
    expect(parks(run)).toEqual(dueAt(until));
  });

  test('is due at once if its signal has arrived, until the wait is over', () => {
    const run = new ExternalRunFixture().claimed();
    const wait = run.begins('signal-wait', waitFor('go'));
    run.put({ type: 'signal-delivered', waits: [wait], data: 1, sendId: 's' }).later(seconds(1));
    expect(parks(run)).toEqual(dueAt(run.now));
    run.put({ type: 'step-completed', stepAttemptId: wait, output: 1 });
    expect(parks(run)).toEqual(dueAt(until));
  });

  test('is due at once if its linked child has ended', () => {
    const run = new ExternalRunFixture().claimed();
    const call = run.begins('workflow');
    run.put({ type: 'child-ended', stepAttemptId: call, child }).later(seconds(1));
    expect(parks(run)).toEqual(dueAt(until));
    const linked = (to: typeof child) =>
      decideSuspend(run.put({ type: 'child-linked', stepAttemptId: call, child: to }).state, 'one', until, run.now);
    expect(linked({ ...child, runId: 'another' })).toEqual(dueAt(until));
    expect(linked({ ...child, namespaceId: 'abroad' })).toEqual(dueAt(until));
    expect(linked({ ...child })).toEqual(dueAt(run.now));
    run.put({ type: 'step-failed', stepAttemptId: call, error: broke });
    expect(parks(run)).toEqual(dueAt(until));
  });

  test('is not woken by an arrival for a step of another kind', () => {
    const run = new ExternalRunFixture().claimed();
    const [work, wait] = [run.begins('function'), run.begins('signal-wait', waitFor('go'))];
    run.put({ type: 'signal-delivered', waits: [work], data: 1, sendId: 's' });
    run.put({ type: 'child-linked', stepAttemptId: wait, child }, { type: 'child-ended', stepAttemptId: wait, child });
    expect(parks(run)).toEqual(dueAt(until));
  });

  test('is due at the requested time even if it has passed', () => {
    const run = new ExternalRunFixture().claimed();
    const wait = run.begins('signal-wait', waitFor('go'));
    run.put({ type: 'signal-delivered', waits: [wait], data: 1, sendId: 's' }).later(seconds(9));
    expect(decideSuspend(run.state, 'one', dawn, run.now)).toEqual(dueAt(dawn));
  });
});

describe('a run that failed', () => {
  const fails = (run: ExternalRunFixture, with_: Partial<FailureReport> = {}) =>
    decideFailure(
      run.state,
      { workerId: 'one', error: broke, retry, attempts: undefined, deadlineAt: undefined, ...with_ },
      run.now,
    );
  const again = (ms: number) => commits({ type: 'rescheduled', error: broke, availableAt: after(dawn, durationMs(ms)) });
  const forGood = commits({ type: 'failed', error: broke });

  test.each([
    [0, 1_000],
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [7, 64_000],
    [8, 100_000],
    [9, 100_000],
  ])('after %i attempts is delayed by %i ms', (attempts, ms) => {
    expect(fails(new ExternalRunFixture().claimed(), { attempts })).toEqual(again(ms));
  });

  test('has a delay of whole milliseconds, never negative', () => {
    const run = new ExternalRunFixture().claimed();
    const backoff = { ...retry, backoffCoefficient: 1.23456 };
    expect(fails(run, { attempts: 3, retry: backoff })).toEqual(again(1_524));
    expect(fails(run, { retry: { ...retry, initialInterval: -5 } })).toEqual(again(0));
  });

  test('has the log’s number of attempts if the caller gives none', () => {
    const run = new ExternalRunFixture().claimed();
    const twice = { ...retry, maximumAttempts: 2 };
    expect(fails(run, { retry: twice })).toEqual(again(1_000));
    expect(fails(run, { retry: twice, attempts: 2 })).toEqual(forGood);
    run.put({ type: 'rescheduled', error: broke, availableAt: dawn }).claimed();
    expect(fails(run, { retry: twice })).toEqual(forGood);
    expect(fails(run, { retry: twice, attempts: 1 })).toEqual(again(1_000));
  });

  test('at its deadline fails for that reason', () => {
    const run = new ExternalRunFixture({ deadlineAt: after(dawn, seconds(60)) }).claimed().later(seconds(60));
    expect(fails(run)).toEqual(tooLate);
    expect(fails(run, { deadlineAt: null })).toMatchObject({ fact: { type: 'rescheduled' } });
    expect(fails(new ExternalRunFixture().claimed(), { deadlineAt: dawn })).toEqual(tooLate);
  });

  test('is not retried at or after the deadline', () => {
    const run = new ExternalRunFixture().claimed();
    expect(fails(run, { deadlineAt: after(dawn, seconds(1)) })).toEqual(forGood);
    expect(fails(run, { deadlineAt: after(dawn, durationMs(1_001)) })).toEqual(again(1_000));
  });
});

describe('a cancel', () => {
  test('ends an open run, changes nothing in a cancelled one, and is refused after another end', () => {
    const run = new ExternalRunFixture();
    expect(decideCancel(run.state)).toEqual(commits({ type: 'cancelled' }));
    expect(decideCancel(run.claimed().state)).toEqual(commits({ type: 'cancelled' }));
    expect(decideCancel(new ExternalRunFixture().put({ type: 'cancelled' }).state)).toEqual(unchanged);
    expect(decideCancel(run.put({ type: 'completed', output: null }).state)).toEqual(refused);
  });
});

describe('the end of a step', () => {
  test('is recorded once: the first result stands, and another one is refused', () => {
    const run = new ExternalRunFixture().claimed();
    const [done, failed] = [run.begins('function'), run.begins('function')];
    run.put({ type: 'step-completed', stepAttemptId: done, output: 1 });
    run.put({ type: 'step-failed', stepAttemptId: failed, error: broke });
    const of = (id: string) => ({ workerId: 'one', stepAttemptId: id });
    expect(decideStepCompletion(run.state, of(done), 2)).toEqual(unchanged);
    expect(decideStepFailure(run.state, of(done), broke)).toEqual(refused);
    expect(decideStepFailure(run.state, of(failed), { message: 'another' })).toEqual(unchanged);
    expect(decideStepCompletion(run.state, of(failed), 2)).toEqual(refused);
    expect([decideLink(run.state, of(done), child), decideLink(run.state, of(failed), child)]).toEqual([refused, refused]);
  });

  test('is refused for an unknown step', () => {
    const run = new ExternalRunFixture().claimed();
    const request = { workerId: 'one', stepAttemptId: unknownStep };
    expect(decideStepCompletion(run.state, request, 1)).toEqual(refused);
    expect(decideStepFailure(run.state, request, broke)).toEqual(refused);
    expect(decideLink(run.state, request, child)).toEqual(refused);
  });
});

describe('the end of a child', () => {
  const called = () => {
    const run = new ExternalRunFixture().claimed();
    return { run, call: run.begins('workflow') };
  };

  test('is recorded once, linked or not', () => {
    const { run, call } = called();
    const told = commits({ type: 'child-ended', stepAttemptId: call, child });
    expect(decideChildEnd(run.state, call, child)).toEqual(told);
    run.put({ type: 'child-linked', stepAttemptId: call, child });
    expect(decideChildEnd(run.state, call, { ...child })).toEqual(told);
    run.put({ type: 'child-ended', stepAttemptId: call, child });
    expect(decideChildEnd(run.state, call, { ...child })).toEqual(unchanged);
  });

  test('counts for the linked run; before the link, the last one counts', () => {
    const { run, call } = called();
    const other = { ...child, runId: 'another' };
    run.put({ type: 'child-ended', stepAttemptId: call, child });
    expect(decideChildEnd(run.state, call, other)).toEqual(commits({ type: 'child-ended', stepAttemptId: call, child: other }));
    run.put({ type: 'child-linked', stepAttemptId: call, child });
    expect(decideChildEnd(run.state, call, other)).toEqual(refused);
    expect(decideChildEnd(run.state, call, { ...child, namespaceId: 'abroad' })).toEqual(refused);
  });

  test('is refused if no step waits for it', () => {
    const { run, call } = called();
    const work = run.begins('function');
    expect(decideChildEnd(run.state, work, child)).toEqual(refused);
    expect(decideChildEnd(run.state, unknownStep, child)).toEqual(refused);
    expect(decideChildEnd(new ExternalRunFixture().state, call, child)).toEqual(refused);
    const over = new ExternalRunFixture().claimed();
    over.begins('workflow');
    expect(decideChildEnd(over.put({ type: 'cancelled' }).state, call, child)).toEqual(refused);
    run.put({ type: 'step-completed', stepAttemptId: call, output: null });
    expect(decideChildEnd(run.state, call, child)).toEqual(refused);
  });
});

describe('a signal', () => {
  const waiting = () => {
    const run = new ExternalRunFixture().claimed();
    const [go, stop, alsoGo] = ['go', 'stop', 'go'].map((signal) => run.begins('signal-wait', waitFor(signal)));
    if (go === undefined || stop === undefined || alsoGo === undefined) throw new Error('three steps are needed');
    return { run, go, stop, alsoGo };
  };
  const sent = { signal: 'go', data: { at: 1 }, sendId: 's-1' };
  const reaches = (...waits: readonly (typeof unknownStep)[]) =>
    commits({ type: 'signal-delivered', waits, data: { at: 1 }, sendId: 's-1' });

  test('reaches all open waits for it, or the given ones', () => {
    const { run, go, stop, alsoGo } = waiting();
    expect(openWaits(run.state, 'go')).toEqual([go, alsoGo]);
    expect(decideDelivery(run.state, sent)).toEqual(reaches(go, alsoGo));
    expect(decideDelivery(run.state, { ...sent, waitIds: [alsoGo, stop] })).toEqual(reaches(alsoGo));
    expect(decideDelivery(run.state, { ...sent, waitIds: [] })).toEqual(refused);
    expect(decideDelivery(run.state, { ...sent, signal: 'none' })).toEqual(refused);
  });

  test('reaches a wait once: a repeated send changes nothing, and another send reaches the remaining waits', () => {
    const { run, go, alsoGo } = waiting();
    run.put({ type: 'signal-delivered', waits: [go], data: 0, sendId: 's-1' });
    expect(decideDelivery(run.state, { ...sent, waitIds: [go] })).toEqual(unchanged);
    expect(decideDelivery(run.state, { ...sent, sendId: 's-2', waitIds: [go] })).toEqual(refused);
    expect(decideDelivery(run.state, sent)).toEqual(reaches(alsoGo));
  });

  test('finds no wait that has ended, that is of another kind, or whose run has ended', () => {
    const { run, go } = waiting();
    run.put({ type: 'step-completed', stepAttemptId: go, output: null });
    run.begins('signal-wait');
    run.begins('function', waitFor('go'));
    run.begins('signal-wait', { kind: 'sleep', resumeAt: '' });
    expect(openWaits(run.state, 'go')).toHaveLength(1);
    expect(openWaits(run.put({ type: 'cancelled' }).state, 'go')).toEqual([]);
  });
});
