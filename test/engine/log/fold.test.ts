/** The fold is strict: it rejects a log that the rules do not allow. */
import { expect, test } from 'vitest';
import { type NodeRef, attempt, commitNo, eventId, nodeKey, nonce, runId, signalId } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import { type Commit, eventIdAfter } from '../../../lib/engine/log/commit.ts';
import type { RunEvent, RunEventType } from '../../../lib/engine/log/events.ts';
import { applyCommit, applyEvent, attemptOf, fork, isWaitingForSlot } from '../../../lib/engine/log/fold.ts';
import type { FailureCause } from '../../../lib/engine/retry.ts';
import { after, instant, seconds } from '../../../lib/engine/time.ts';
import { foldOf, plain, refOf } from '../graph-run-fixture.ts';

const at = instant(1_000);
const commit = (number: number, firstEventId: number, events: readonly RunEvent[]): Commit => ({
  number: commitNo(number),
  firstEventId: eventId(firstEventId),
  events,
  at,
  by: 'test',
  nonce: nonce('n'),
});

type EventOf<Type extends RunEventType> = Extract<RunEvent, { type: Type }>;

const a: NodeRef = refOf('a');
const dispatchedAs = (ref: NodeRef, number = 1): EventOf<'NODE_DISPATCHED'> => ({
  type: 'NODE_DISPATCHED',
  ...ref,
  attempt: attempt(number),
  via: 'queue',
  wave: 0,
});
const startedAs = (ref: NodeRef, number = 1): EventOf<'NODE_STARTED'> => ({
  type: 'NODE_STARTED',
  ...ref,
  attempt: attempt(number),
  startedAt: at,
});
const completedAs = (ref: NodeRef, number = 1): EventOf<'NODE_COMPLETED'> => ({
  type: 'NODE_COMPLETED',
  ...ref,
  attempt: attempt(number),
  output: inline('done'),
  handle: 'output',
  startedAt: at,
  endedAt: at,
});
const failedAs = (ref: NodeRef, number = 1, cause: FailureCause = 'error'): EventOf<'NODE_FAILED'> => ({
  type: 'NODE_FAILED',
  ...ref,
  attempt: attempt(number),
  failure: { cause, message: 'broke' },
  startedAt: at,
  endedAt: at,
});
const retriedAs = (ref: NodeRef, number = 1): EventOf<'NODE_RETRIED'> => ({
  type: 'NODE_RETRIED',
  ...ref,
  attempt: attempt(number),
  failure: { cause: 'error', message: 'broke' },
  delayMs: seconds(1),
  retryAt: after(at, seconds(1)),
  via: 'queue',
  startedAt: at,
  endedAt: at,
});
const started: RunEvent = { type: 'RUN_STARTED' };
const cancelled: RunEvent = { type: 'RUN_CANCELLED', reason: 'enough' };

test('the first commit is number 1 and begins with event 1', () => {
  expect(() => foldOf([commit(2, 1, [started])])).toThrow('commit 2 cannot follow commit 0');
  expect(() => foldOf([commit(1, 2, [started])])).toThrow('begins with event 2, not 1');
  expect(foldOf([commit(1, 1, [started])])).toMatchObject({ asOf: 1, nextEventId: 2 });
});

test.each([1, 3, 4])('after commit 1, commit %i is rejected', (number) => {
  const state = foldOf([commit(1, 1, [started])]);
  expect(() => applyCommit(state, commit(number, 2, [started]))).toThrow(`commit ${number} cannot follow commit 1`);
});

test.each([1, 2, 4])('after two events, a commit that begins with event %i is rejected', (first) => {
  const state = foldOf([commit(1, 1, [started, dispatchedAs(a)])]);
  expect(() => applyCommit(state, commit(2, first, [startedAs(a)]))).toThrow(`begins with event ${first}, not 3`);
});

test('event ids are dense over commits of any size', () => {
  const commits: Commit[] = [];
  let next = eventId(1);
  for (const [index, size] of [3, 1, 2, 5].entries()) {
    const made = commit(index + 1, next, Array<RunEvent>(size).fill(started));
    commits.push(made);
    next = eventIdAfter(made);
  }
  expect(next).toBe(12);
  expect(foldOf(commits).nextEventId).toBe(12);
});

test.each<[string, RunEvent]>([
  ['completed', { type: 'RUN_COMPLETED', output: inline(1) }],
  ['failed', { type: 'RUN_FAILED', error: { cause: 'error', message: 'broke' } }],
  ['failed', { type: 'RUN_TIMED_OUT', error: { cause: 'deadline', message: 'late' } }],
  ['cancelled', cancelled],
])('no event follows the end as %s', (status, ending) => {
  const state = foldOf([commit(1, 1, [started, ending])]);
  expect(state.progress.status).toBe(status);
  for (const event of [started, ending, dispatchedAs(a)]) {
    expect(() => applyEvent(fork(state), event, { commit: commitNo(2), at })).toThrow(`after the run ended as ${status}`);
  }
  expect(() => foldOf([commit(1, 1, [ending, started])])).toThrow('after the run ended');
});

test.each<[string, readonly RunEvent[], string]>([
  ['a second dispatch', [dispatchedAs(a), dispatchedAs(a)], 'a was dispatched twice'],
  ['a start before the dispatch', [startedAs(a)], 'a is not open'],
  ['a retry before the dispatch', [retriedAs(a)], 'a is not open'],
  ['a start of another attempt', [dispatchedAs(a), startedAs(a, 2)], 'a is at attempt 1, not 2'],
  ['a retry of another attempt', [dispatchedAs(a), retriedAs(a, 2)], 'a is at attempt 1, not 2'],
  ['a retry of an attempt that was retried', [dispatchedAs(a), retriedAs(a), retriedAs(a)], 'a is at attempt 2, not 1'],
  ['a completion of another attempt', [dispatchedAs(a), completedAs(a, 2)], 'a is at attempt 1, not 2'],
  ['a failure of an attempt that was retried', [dispatchedAs(a), retriedAs(a), failedAs(a)], 'a is at attempt 2, not 1'],
  [
    'a second completion',
    [dispatchedAs(a), completedAs(a), completedAs(a)],
    'NODE_COMPLETED of a, which already ended as completed',
  ],
  [
    'a failure after the completion',
    [dispatchedAs(a), completedAs(a), failedAs(a)],
    'NODE_FAILED of a, which already ended as completed',
  ],
  [
    'a dispatch after the completion',
    [dispatchedAs(a), completedAs(a), dispatchedAs(a)],
    'NODE_DISPATCHED of a, which already ended as completed',
  ],
  [
    'a skip after the completion',
    [dispatchedAs(a), completedAs(a), { type: 'NODE_SKIPPED', ...a, reason: 'branch_not_taken' }],
    'NODE_SKIPPED of a, which already ended as completed',
  ],
  [
    'a completion after a skip',
    [{ type: 'NODE_SKIPPED', ...a, reason: 'branch_not_taken' }, completedAs(a)],
    'NODE_COMPLETED of a, which already ended as skipped',
  ],
])('%s of a node is rejected', (_what, events, why) => {
  expect(() => foldOf([commit(1, 1, events)])).toThrow(why);
});

test('one event cancels all open nodes and leaves the ended ones', () => {
  const [b, c, d] = [refOf('b'), refOf('c'), refOf('d')];
  const state = foldOf([
    commit(1, 1, [dispatchedAs(a), dispatchedAs(b), startedAs(b), dispatchedAs(c), completedAs(c)]),
    commit(2, 6, [{ type: 'SLEEP_STARTED', ...d, attempt: attempt(1), wakeAt: after(at, seconds(9)), output: inline(null) }]),
    commit(3, 7, [cancelled]),
  ]);
  const nodes = Object.fromEntries(state.nodes.entries());
  expect(nodes).toMatchObject({
    a: { status: 'cancelled', endedBy: 7 },
    b: { status: 'cancelled', startedAt: at },
    c: { status: 'completed' },
    d: { status: 'cancelled' },
  });
  expect(nodes['a']).not.toHaveProperty('startedAt');
  expect(state.open.size).toBe(0);
  expect(state.progress).toEqual({ status: 'cancelled', endedAt: at, reason: 'enough' });
});

test('changes to a fork do not reach the original fold', () => {
  const state = foldOf([commit(1, 1, [{ type: 'INPUT_SET', input: inline(1) }, dispatchedAs(a)])]);
  const before = structuredClone(plain(state));
  const draft = fork(state);
  for (const event of [completedAs(a), { type: 'INPUT_SET', input: inline(2) }, cancelled] satisfies RunEvent[]) {
    applyEvent(draft, event, { commit: commitNo(2), at });
  }
  expect(plain(draft)).not.toEqual(before);
  expect(plain(state)).toEqual(before);
});

test('a retry increments the attempt and keeps its pinned context', () => {
  const state = foldOf([commit(1, 1, [started, dispatchedAs(a)]), commit(2, 3, [retriedAs(a)])]);
  expect(state.nodes.get(nodeKey(a))).toMatchObject({
    status: 'queued',
    attempt: 2,
    pinnedAt: 2,
    dispatchedIn: 2,
    notBefore: after(at, seconds(1)),
  });
});

test('an attempt that timed out differs from one that failed', () => {
  expect(plain(foldOf([commit(1, 1, [dispatchedAs(a), failedAs(a, 1, 'timeout')])])).nodes).toMatchObject([
    ['a', { status: 'timed_out' }],
  ]);
  expect(plain(foldOf([commit(1, 1, [dispatchedAs(a), failedAs(a)])])).nodes).toMatchObject([['a', { status: 'failed' }]]);
});

const nodesOf = (...events: readonly RunEvent[]) => Object.fromEntries(foldOf([commit(1, 1, events)]).nodes.entries());
const later = after(at, seconds(9));
const placeAwaited: EventOf<'SLOT_AWAITED'> = { type: 'SLOT_AWAITED', slots: 2 };
const slotTaken: RunEvent = { type: 'SLOT_TAKEN', slot: 1 };

test('a run waits for a slot from its commit or requested start until it has one or has ended', () => {
  const waiting = foldOf([commit(1, 1, [placeAwaited])]);
  expect(waiting.admission).toStrictEqual({ slots: 2, since: at });
  expect(isWaitingForSlot(waiting)).toBe(true);
  const delayed = foldOf([commit(1, 1, [{ ...placeAwaited, notBefore: later }, slotTaken])]);
  expect(delayed.admission).toEqual({ slots: 2, since: later, notBefore: later, slot: 1 });
  expect(isWaitingForSlot(delayed)).toBe(false);
  expect(isWaitingForSlot(foldOf([commit(1, 1, [placeAwaited, cancelled])]))).toBe(false);
  expect(isWaitingForSlot(foldOf([commit(1, 1, [started])]))).toBe(false);
});

test.each<[string, readonly RunEvent[]]>([
  ['in a run that waits for none', [slotTaken]],
  ['twice', [placeAwaited, slotTaken, slotTaken]],
])('a slot is rejected %s', (_how, events) => {
  expect(() => foldOf([commit(1, 1, events)])).toThrow('SLOT_TAKEN in a run that waits for no slot');
});

test('a run is running from the event that records it, and a status change to an end alone does not end it', () => {
  const running: EventOf<'RUN_STATUS_CHANGED'> = { type: 'RUN_STATUS_CHANGED', status: 'running' };
  expect(foldOf([commit(1, 1, [started])]).progress).toEqual({ status: 'pending' });
  expect(foldOf([commit(1, 1, [started, running])]).progress).toEqual({ status: 'running', startedAt: at });
  expect(foldOf([commit(1, 1, [{ ...running, status: 'failed' }])]).progress).toEqual({ status: 'pending' });
});

test('a run cancelled without a reason has none', () => {
  expect(foldOf([commit(1, 1, [{ type: 'RUN_CANCELLED' }])]).progress).toStrictEqual({ status: 'cancelled', endedAt: at });
});

const workflowTask = { kind: 'workflow_task', key: '1' } as const;
const charge = { kind: 'function', key: 'charge' } as const;
const usage = { input: 5, output: 2 };
const called: EventOf<'SUBFLOW_CALLED'> = {
  type: 'SUBFLOW_CALLED',
  ...a,
  attempt: attempt(1),
  childRunId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV'),
  workflowName: 'ship',
  input: inline(7),
  parentClosePolicy: 'abandon',
  onChildCancelled: 'fail',
};

test.each<[number, number, string, readonly RunEvent[]]>([
  [1, 0, 'an attempt that a worker was asked for', [dispatchedAs(a)]],
  [0, 0, 'a pure node whose time is waited for', [{ ...dispatchedAs(a), isPure: true }]],
  [0, 0, 'a workflowTask', [{ ...dispatchedAs(a), step: workflowTask }]],
  [1, 0, 'a step', [{ ...dispatchedAs(a), step: charge }]],
  [2, 7, 'a repetition, and what the failed attempt used', [dispatchedAs(a), { ...retriedAs(a), tokens: usage }]],
  [1, 7, 'a failure', [dispatchedAs(a), { ...failedAs(a), tokens: usage }]],
  [1, 7, 'a completion', [dispatchedAs(a), { ...completedAs(a), tokens: usage }]],
  [1, 0, 'a call', [called]],
  [2, 0, 'a call that was asked for again, as its repetition', [called, retriedAs(a), { ...called, attempt: attempt(2) }]],
])('%i executions and %i tokens are used by %s', (executions, tokens, _what, events) => {
  expect(foldOf([commit(1, 1, events)]).budgetUsage).toEqual({ executions, tokens });
});

const awaited: EventOf<'SIGNAL_AWAITED'> = {
  type: 'SIGNAL_AWAITED',
  ...a,
  attempt: attempt(1),
  name: 'paid',
  correlation: 'o-7',
};
const received: RunEvent = {
  type: 'SIGNAL_RECEIVED',
  ...a,
  attempt: attempt(1),
  signalId: signalId('s1'),
  name: 'paid',
  correlation: 'o-7',
};
const slept: EventOf<'SLEEP_STARTED'> = { type: 'SLEEP_STARTED', ...a, attempt: attempt(1), wakeAt: later, output: inline(1) };
const woken: RunEvent = { type: 'NODE_WOKEN', ...a, attempt: attempt(1) };

test('a dispatch with a start time delays its node', () => {
  expect(nodesOf(dispatchedAs(a))['a']).not.toHaveProperty('notBefore');
  expect(nodesOf({ ...dispatchedAs(a), notBefore: later })['a']).toMatchObject({ status: 'queued', notBefore: later });
});

test('optional fields of a wait are stored as the event has them', () => {
  expect(nodesOf(awaited)['a']).not.toHaveProperty('expiresAt');
  expect(nodesOf(awaited)['a']).not.toHaveProperty('expiryHandle');
  expect(nodesOf({ ...awaited, expiresAt: later, expiryHandle: 'late' })['a']).toMatchObject({
    expiresAt: later,
    expiryHandle: 'late',
  });
  expect(nodesOf(called)['a']).not.toHaveProperty('version');
  expect(nodesOf(called)['a']).not.toHaveProperty('expiresAt');
  expect(nodesOf({ ...called, version: 3, expiresAt: later })['a']).toMatchObject({ version: 3, expiresAt: later });
});

test('only a node that awaits a signal receives one, and only a sleeping node wakes', () => {
  expect(() => nodesOf(slept, received)).toThrow('received a signal and awaits none');
  expect(() => nodesOf(dispatchedAs(a), received)).toThrow('received a signal and awaits none');
  expect(() => nodesOf(awaited, woken)).toThrow('was woken and does not sleep');
  expect(() => nodesOf(dispatchedAs(a), woken)).toThrow('was woken and does not sleep');
  expect(nodesOf(slept, woken)['a']).toMatchObject({ status: 'waiting', wakeAt: later });
});

test('an ended node keeps the signal, the called run and the step of its wait', () => {
  expect(nodesOf(awaited, received, completedAs(a))['a']).toMatchObject({ status: 'completed', signalId: 's1' });
  expect(nodesOf(awaited, completedAs(a))['a']).not.toHaveProperty('signalId');
  expect(nodesOf(called, failedAs(a))['a']).toMatchObject({ status: 'failed', childRunId: 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV' });
  expect(nodesOf(slept, completedAs(a))['a']).not.toHaveProperty('childRunId');
  expect(nodesOf(started, { ...slept, step: charge }, completedAs(a))['a']).toMatchObject({ step: charge, begunBy: 2 });
  expect(nodesOf(slept, completedAs(a))['a']).not.toHaveProperty('step');
  expect(nodesOf(called, cancelled)['a']).toMatchObject({ status: 'cancelled', childRunId: 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV' });
});

test('lost attempts of a step are counted over retries; other failures are not', () => {
  const lost: EventOf<'NODE_RETRIED'> = { ...retriedAs(a), failure: { cause: 'lost', message: 'gone' } };
  const step: RunEvent = { ...dispatchedAs(a), step: charge };
  expect(nodesOf(step, lost)['a']).toMatchObject({ lostAttempts: 1 });
  expect(nodesOf(step, lost, startedAs(a, 2), { ...lost, attempt: attempt(2) })['a']).toMatchObject({ lostAttempts: 2 });
  expect(nodesOf(step, retriedAs(a))['a']).not.toHaveProperty('lostAttempts');
  expect(nodesOf(dispatchedAs(a), lost)['a']).not.toHaveProperty('lostAttempts');
});

test('an output is written under its variable, and so is a failure that an error edge handles', () => {
  const writes = (...events: readonly RunEvent[]) =>
    [...foldOf([commit(1, 1, events)]).contextWrites.entries()].map(([key, values]) => [
      key,
      values.at(-1)?.writtenBy,
      values.at(-1)?.payload,
    ]);
  expect(writes(dispatchedAs(a), { ...completedAs(a), variable: 'sum' })).toEqual([['sum', 2, inline('done')]]);
  expect(writes(dispatchedAs(a), completedAs(a))).toEqual([]);
  const failure = { success: false, error: { cause: 'error', message: 'broke', attempts: 1 } };
  const handled: RunEvent = { ...failedAs(a), handle: 'error', variable: 'sum' };
  expect(writes(dispatchedAs(a), handled)).toEqual([['sum', 2, { value: failure }]]);
  expect(writes(dispatchedAs(a), failedAs(a))).toEqual([]);
  expect(nodesOf(dispatchedAs(a), handled)['a']).toMatchObject({ isHandled: true });
  expect(nodesOf(dispatchedAs(a), failedAs(a))['a']).toMatchObject({ isHandled: false });
});

test('a completion has a variable and an end only if the event has them', () => {
  const bare = nodesOf(dispatchedAs(a), completedAs(a))['a'];
  expect(bare).not.toHaveProperty('variable');
  expect(bare).not.toHaveProperty('end');
  const full = nodesOf(dispatchedAs(a), { ...completedAs(a), variable: 'sum', end: 'error' })['a'];
  expect(full).toMatchObject({ variable: 'sum', end: 'error' });
});

test('a rollback cancels open steps and keeps the workflow task', () => {
  const error = { cause: 'error', message: 'broke' } as const;
  const nodes = nodesOf(
    { ...dispatchedAs(a), step: workflowTask },
    { ...dispatchedAs(refOf('b')), step: charge },
    { type: 'ROLLBACK_STARTED', runOutcome: { status: 'failed', error } },
  );
  expect(nodes).toMatchObject({ a: { status: 'queued' }, b: { status: 'cancelled', endedBy: 3 } });
});

test('an ended node keeps its attempt; one that has not begun, or was skipped, is at the first', () => {
  const skipped = nodesOf({ type: 'NODE_SKIPPED', ...a, reason: 'branch_not_taken' })['a'];
  expect([attemptOf(undefined), attemptOf(skipped)]).toEqual([1, 1]);
  const [open, ended] = [nodesOf(dispatchedAs(a), retriedAs(a)), nodesOf(dispatchedAs(a), retriedAs(a), completedAs(a, 2))];
  expect([attemptOf(open['a']), attemptOf(ended['a'])]).toEqual([2, 2]);
});
