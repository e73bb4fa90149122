/** The fold is strict: a log that could not have been written by the rules is refused, not interpreted. */
import { expect, test } from 'vitest';
import { type NodeRef, attempt, commitNo, eventId, nodeKey, nonce } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import { type Commit, eventIdAfter } from '../../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { applyCommit, applyEvent, fork } from '../../../lib/engine/log/fold.ts';
import type { FailureCause } from '../../../lib/engine/retry/causes.ts';
import { after, instant, seconds } from '../../../lib/engine/time.ts';
import { foldOf, plain, refOf } from '../play.ts';

const at = instant(1_000);
const commit = (number: number, firstEventId: number, events: readonly RunEvent[]): Commit => ({
  number: commitNo(number),
  firstEventId: eventId(firstEventId),
  events,
  at,
  by: 'test',
  nonce: nonce('n'),
});

const a: NodeRef = refOf('a');
const dispatchedAs = (ref: NodeRef, number = 1): RunEvent => ({
  type: 'NODE_DISPATCHED',
  ...ref,
  attempt: attempt(number),
  via: 'queue',
  wave: 0,
});
const startedAs = (ref: NodeRef, number = 1): RunEvent => ({
  type: 'NODE_STARTED',
  ...ref,
  attempt: attempt(number),
  startedAt: at,
});
const completedAs = (ref: NodeRef, number = 1): RunEvent => ({
  type: 'NODE_COMPLETED',
  ...ref,
  attempt: attempt(number),
  output: inline('done'),
  handle: 'output',
  startedAt: at,
  endedAt: at,
});
const failedAs = (ref: NodeRef, number = 1, cause: FailureCause = 'error'): RunEvent => ({
  type: 'NODE_FAILED',
  ...ref,
  attempt: attempt(number),
  failure: { cause, message: 'broke' },
  startedAt: at,
  endedAt: at,
});
const retriedAs = (ref: NodeRef, number = 1): RunEvent => ({
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

test.each([1, 3, 4])('after commit 1, commit %i is refused', (number) => {
  const state = foldOf([commit(1, 1, [started])]);
  expect(() => applyCommit(state, commit(number, 2, [started]))).toThrow(`commit ${number} cannot follow commit 1`);
});

test.each([1, 2, 4])('after two events, a commit that begins with event %i is refused', (first) => {
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
])('nothing follows an ending as %s', (status, ending) => {
  const state = foldOf([commit(1, 1, [started, ending])]);
  expect(state.progress.status).toBe(status);
  for (const event of [started, ending, dispatchedAs(a)]) {
    expect(() => applyEvent(fork(state), event, { commit: commitNo(2), at })).toThrow(`after the run had ended as ${status}`);
  }
  expect(() => foldOf([commit(1, 1, [ending, started])])).toThrow('after the run had ended');
});

test.each<[string, readonly RunEvent[]]>([
  ['a second dispatch', [dispatchedAs(a), dispatchedAs(a)]],
  ['a start before the dispatch', [startedAs(a)]],
  ['a retry before the dispatch', [retriedAs(a)]],
  ['a start of another attempt', [dispatchedAs(a), startedAs(a, 2)]],
  ['a retry of another attempt', [dispatchedAs(a), retriedAs(a, 2)]],
  ['a retry of an attempt that was retried', [dispatchedAs(a), retriedAs(a), retriedAs(a)]],
  ['a completion of another attempt', [dispatchedAs(a), completedAs(a, 2)]],
  ['a failure of an attempt that was retried', [dispatchedAs(a), retriedAs(a), failedAs(a)]],
  ['a second completion', [dispatchedAs(a), completedAs(a), completedAs(a)]],
  ['a failure after the completion', [dispatchedAs(a), completedAs(a), failedAs(a)]],
  ['a dispatch after the completion', [dispatchedAs(a), completedAs(a), dispatchedAs(a)]],
  ['a completion after being skipped', [{ type: 'NODE_SKIPPED', ...a, reason: 'branch_not_taken' }, completedAs(a)]],
])('%s of a node is refused', (_what, events) => {
  expect(() => foldOf([commit(1, 1, events)])).toThrow();
});

test('one event cancels all that was open, and leaves what had ended', () => {
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
  expect(state.open.size).toBe(0);
  expect(state.progress).toEqual({ status: 'cancelled', endedAt: at, reason: 'enough' });
});

test('changes to a fork of a fold do not reach it', () => {
  const state = foldOf([commit(1, 1, [{ type: 'INPUT_SET', input: inline(1) }, dispatchedAs(a)])]);
  const before = structuredClone(plain(state));
  const draft = fork(state);
  for (const event of [completedAs(a), { type: 'INPUT_SET', input: inline(2) }, cancelled] satisfies RunEvent[]) {
    applyEvent(draft, event, { commit: commitNo(2), at });
  }
  expect(plain(draft)).not.toEqual(before);
  expect(plain(state)).toEqual(before);
});

test('a retry moves the attempt on and keeps what it is pinned to', () => {
  const state = foldOf([commit(1, 1, [started, dispatchedAs(a)]), commit(2, 3, [retriedAs(a)])]);
  expect(state.nodes.get(nodeKey(a))).toMatchObject({
    status: 'queued',
    attempt: 2,
    pinnedAt: 2,
    dispatchedIn: 2,
    notBefore: after(at, seconds(1)),
  });
});

test('an attempt that took too long is told apart from one that failed', () => {
  expect(plain(foldOf([commit(1, 1, [dispatchedAs(a), failedAs(a, 1, 'timeout')])])).nodes).toMatchObject([
    ['a', { status: 'timed_out' }],
  ]);
  expect(plain(foldOf([commit(1, 1, [dispatchedAs(a), failedAs(a)])])).nodes).toMatchObject([['a', { status: 'failed' }]]);
});
