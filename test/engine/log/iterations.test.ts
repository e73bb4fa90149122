/** The fold's state of iterations; an ended iteration leaves only its result. */
import { expect, test } from 'vitest';
import { attempt, commitNo, eventId, iterationKey, nodeId, nodeKey, nonce } from '../../../lib/engine/ids.ts';
import { type JsonValue, inline } from '../../../lib/engine/json.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import type { RunState } from '../../../lib/engine/log/fold.ts';
import { durationMs, instant } from '../../../lib/engine/time.ts';
import { foldOf, refOf } from '../graph-run-fixture.ts';

const at = instant(1_000);
const logOf = (...events: readonly RunEvent[]): RunState =>
  foldOf([{ number: commitNo(1), firstEventId: eventId(1), events, at, by: 'test', nonce: nonce('n') }]);

const first = attempt(1);
const loopStarted = (loop: string): RunEvent => ({
  type: 'LOOP_STARTED',
  ...refOf(loop),
  attempt: first,
  itemVariable: 'item',
  indexVariable: 'index',
  concurrency: 2,
  delayMs: durationMs(0),
  onItemFailure: 'fail',
  items: 3,
  pages: [inline([1, 2, 3])],
  pageSize: 100,
});
const iterationStarted = (loop: string, index: number): Extract<RunEvent, { type: 'ITERATION_STARTED' }> => ({
  type: 'ITERATION_STARTED',
  ...refOf(loop),
  attempt: first,
  index,
});
const iterationEnded = (loop: string, index: number, from: string): RunEvent => ({
  type: 'ITERATION_ENDED',
  ...refOf(loop),
  attempt: first,
  index,
  status: 'completed',
  from: nodeId(from),
});
const dispatched = (name: string): RunEvent => ({
  type: 'NODE_DISPATCHED',
  ...refOf(name),
  attempt: first,
  via: 'queue',
  wave: 0,
});
const done = (name: string, variable?: string): RunEvent => ({
  type: 'NODE_COMPLETED',
  ...refOf(name),
  attempt: first,
  output: inline(name),
  handle: 'output',
  startedAt: at,
  endedAt: at,
  ...(variable === undefined ? {} : { variable }),
});
const broken = (name: string): RunEvent => ({
  type: 'NODE_FAILED',
  ...refOf(name),
  attempt: first,
  failure: { cause: 'error', message: 'broke' },
  startedAt: at,
  endedAt: at,
});

const keys = (state: RunState) => ({
  nodes: [...state.nodes.entries()].map(([key]) => key),
  open: [...state.open.keys()],
  iterations: [...state.iterations.entries()].map(([key]) => key),
});
const iterationAt = (state: RunState, key: string) => state.iterations.get(iterationKey(key));

const loopOf = (...events: readonly RunEvent[]) => {
  const node = logOf(...events).nodes.get(nodeKey(refOf('each')));
  return node?.status === 'waiting' && node.for === 'iterations' ? node.loop : undefined;
};
const resultOf = (index: number, status: 'completed' | 'failed', result: JsonValue): RunEvent => ({
  type: 'ITERATION_ENDED',
  ...refOf('each'),
  attempt: first,
  index,
  status,
  result: inline(result),
});

test('a loop has its open iterations, its failures, and its results with their size in order of completion', () => {
  const fresh = {
    next: 0,
    open: [],
    failed: 0,
    pendingResults: [],
    pendingSize: 0,
    totalSize: 0,
    stored: [],
    startedAt: at,
    items: 3,
  };
  expect(loopOf(loopStarted('each'))).toMatchObject(fresh);
  const begun = [loopStarted('each'), iterationStarted('each', 0), iterationStarted('each', 1)];
  expect(loopOf(...begun)).toMatchObject({ ...fresh, next: 2, open: [0, 1] });
  const ended = [...begun, resultOf(1, 'failed', 'no'), resultOf(0, 'completed', 12345)];
  expect(loopOf(...ended)).toMatchObject({
    ...fresh,
    next: 2,
    failed: 1,
    pendingResults: [
      { index: 1, payload: inline('no') },
      { index: 0, payload: inline(12345) },
    ],
    pendingSize: 9,
    totalSize: 9,
  });
});

test('stored results are no longer pending, and still count in the total', () => {
  const results = inline([{ index: 0, payload: { value: 12345 } }]);
  const storedEvent: RunEvent = { type: 'LOOP_RESULTS_STORED', ...refOf('each'), attempt: first, results };
  const before = [loopStarted('each'), iterationStarted('each', 0), resultOf(0, 'completed', 12345), storedEvent];
  expect(loopOf(...before)).toMatchObject({ next: 1, pendingResults: [], pendingSize: 0, totalSize: 5, stored: [results] });
  expect(loopOf(...before, storedEvent)?.stored).toEqual([results, results]);
});

test('a pause ends with the next iteration, and changes nothing else', () => {
  const paused: RunEvent = { type: 'LOOP_PAUSED', ...refOf('each'), attempt: first, wakeAt: instant(9_000) };
  expect(loopOf(loopStarted('each'), paused)).toMatchObject({ items: 3, wakeAt: 9_000 });
  expect(loopOf(loopStarted('each'), paused, iterationStarted('each', 0))).not.toHaveProperty('wakeAt');
});

test('an iteration has its item only if the start event carries it', () => {
  const state = logOf(loopStarted('each'), { ...iterationStarted('each', 0), item: inline(7) }, iterationStarted('each', 1));
  expect(iterationAt(state, 'each[0]')).toMatchObject({
    item: inline(7),
    index: 0,
    startedBy: 2,
    members: [],
    open: 0,
    contextWrites: {},
  });
  expect(iterationAt(state, 'each[1]')).not.toHaveProperty('item');
});

test('an iteration lists each of its nodes once, and counts the open ones', () => {
  const begun = [loopStarted('each'), iterationStarted('each', 0), dispatched('work@each[0]'), dispatched('more@each[0]')];
  expect(iterationAt(logOf(...begun), 'each[0]')).toMatchObject({ members: ['work@each[0]', 'more@each[0]'], open: 2 });
  const ended = logOf(...begun, done('work@each[0]'));
  expect(iterationAt(ended, 'each[0]')).toMatchObject({ members: ['work@each[0]', 'more@each[0]'], open: 1 });
});

test('values written inside an iteration are visible only there, in order', () => {
  const state = logOf(
    loopStarted('each'),
    iterationStarted('each', 0),
    iterationStarted('each', 1),
    dispatched('a@each[0]'),
    dispatched('b@each[0]'),
    dispatched('c@each[0]'),
    done('a@each[0]', 'sum'),
    done('b@each[0]', 'sum'),
    done('c@each[0]', 'other'),
  );
  expect(iterationAt(state, 'each[0]')?.contextWrites).toEqual({
    sum: [
      { writtenBy: 7, payload: inline('a@each[0]') },
      { writtenBy: 8, payload: inline('b@each[0]') },
    ],
    other: [{ writtenBy: 9, payload: inline('c@each[0]') }],
  });
  expect(iterationAt(state, 'each[1]')?.contextWrites).toEqual({});
  expect(state.contextWrites.size).toBe(0);
});

test('a variable named like a property of every object is stored', () => {
  const state = logOf(loopStarted('each'), iterationStarted('each', 0), dispatched('a@each[0]'), done('a@each[0]', 'toString'));
  expect(iterationAt(state, 'each[0]')?.contextWrites['toString']).toEqual([{ writtenBy: 4, payload: inline('a@each[0]') }]);
});

test('an ended iteration is forgotten with its nodes, and other iterations are not', () => {
  const state = logOf(
    loopStarted('each'),
    iterationStarted('each', 0),
    iterationStarted('each', 1),
    dispatched('work@each[0]'),
    dispatched('work@each[1]'),
    done('work@each[0]'),
    iterationEnded('each', 0, 'work'),
  );
  expect(keys(state)).toEqual({ nodes: ['each', 'work@each[1]'], open: ['each', 'work@each[1]'], iterations: ['each[1]'] });
});

test.each([
  ['that fails', broken('outer')],
  ['that completes', done('outer')],
])('a loop %s ends its iterations and those of nested loops', (_how, end) => {
  const begun = [
    dispatched('beside'),
    loopStarted('outer'),
    iterationStarted('outer', 0),
    loopStarted('inner@outer[0]'),
    iterationStarted('inner@outer[0]', 0),
    dispatched('work@outer[0]/inner[0]'),
  ];
  expect(keys(logOf(...begun)).iterations).toEqual(['outer[0]', 'outer[0]/inner[0]']);
  expect(keys(logOf(...begun, end))).toEqual({ nodes: ['beside', 'outer'], open: ['beside'], iterations: [] });
});

test('a node that fails beside a loop ends no iteration', () => {
  const state = logOf(
    dispatched('beside'),
    loopStarted('each'),
    iterationStarted('each', 0),
    dispatched('work@each[0]'),
    broken('beside'),
  );
  expect(keys(state)).toEqual({
    nodes: ['beside', 'each', 'work@each[0]'],
    open: ['each', 'work@each[0]'],
    iterations: ['each[0]'],
  });
});

test.each<[string, readonly RunEvent[]]>([
  ['a node in an iteration that has not begun', [loopStarted('each'), dispatched('work@each[0]')]],
  ['an iteration out of order', [loopStarted('each'), iterationStarted('each', 1)]],
  ['an iteration beyond the items', [loopStarted('each'), ...[0, 1, 2, 3].map((index) => iterationStarted('each', index))]],
  ['the end of an iteration that is not open', [loopStarted('each'), iterationEnded('each', 0, 'work')]],
  [
    'a result of a node that has not completed',
    [loopStarted('each'), iterationStarted('each', 0), dispatched('work@each[0]'), iterationEnded('each', 0, 'work')],
  ],
  ['an iteration of a node that is not a loop', [dispatched('each'), iterationStarted('each', 0)]],
])('%s is rejected', (_what, events) => {
  expect(() => logOf(...events)).toThrow(
    /iteration each\[0\] is not open|but the next of its 3 is|ended iteration 0, which is not open|has not completed|is not an open loop/,
  );
});
