/** What the fold keeps of the passes of a loop, and that nothing of a pass outlives it but its result. */
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
const looping = (loop: string): RunEvent => ({
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
const passBegins = (loop: string, index: number): Extract<RunEvent, { type: 'ITERATION_STARTED' }> => ({
  type: 'ITERATION_STARTED',
  ...refOf(loop),
  attempt: first,
  index,
});
const passEnds = (loop: string, index: number, from: string): RunEvent => ({
  type: 'ITERATION_ENDED',
  ...refOf(loop),
  attempt: first,
  index,
  status: 'completed',
  from: nodeId(from),
});
const asked = (name: string): RunEvent => ({ type: 'NODE_DISPATCHED', ...refOf(name), attempt: first, via: 'queue', wave: 0 });
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
  passes: [...state.iterations.entries()].map(([key]) => key),
});
const pass = (state: RunState, key: string) => state.iterations.get(iterationKey(key));

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

test('a loop knows what is under way, what has failed, and its results with their size, in the order in which they came', () => {
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
  expect(loopOf(looping('each'))).toMatchObject(fresh);
  const begun = [looping('each'), passBegins('each', 0), passBegins('each', 1)];
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

test('results that are put away are fresh no longer, and count for the whole still', () => {
  const results = inline([{ index: 0, payload: { value: 12345 } }]);
  const kept: RunEvent = { type: 'LOOP_RESULTS_STORED', ...refOf('each'), attempt: first, results };
  const before = [looping('each'), passBegins('each', 0), resultOf(0, 'completed', 12345), kept];
  expect(loopOf(...before)).toMatchObject({ next: 1, pendingResults: [], pendingSize: 0, totalSize: 5, stored: [results] });
  expect(loopOf(...before, kept)?.stored).toEqual([results, results]);
});

test('a pause holds until a pass begins, and changes nothing else', () => {
  const paused: RunEvent = { type: 'LOOP_PAUSED', ...refOf('each'), attempt: first, wakeAt: instant(9_000) };
  expect(loopOf(looping('each'), paused)).toMatchObject({ items: 3, wakeAt: 9_000 });
  expect(loopOf(looping('each'), paused, passBegins('each', 0))).not.toHaveProperty('wakeAt');
});

test('an item that travels with its pass is known to it, and another is not', () => {
  const state = logOf(looping('each'), { ...passBegins('each', 0), item: inline(7) }, passBegins('each', 1));
  expect(pass(state, 'each[0]')).toMatchObject({
    item: inline(7),
    index: 0,
    startedBy: 2,
    members: [],
    open: 0,
    contextWrites: {},
  });
  expect(pass(state, 'each[1]')).not.toHaveProperty('item');
});

test('a pass knows each of its nodes once, and how many of them are open', () => {
  const begun = [looping('each'), passBegins('each', 0), asked('work@each[0]'), asked('more@each[0]')];
  expect(pass(logOf(...begun), 'each[0]')).toMatchObject({ members: ['work@each[0]', 'more@each[0]'], open: 2 });
  const ended = logOf(...begun, done('work@each[0]'));
  expect(pass(ended, 'each[0]')).toMatchObject({ members: ['work@each[0]', 'more@each[0]'], open: 1 });
});

test('what nodes write inside a pass is seen there, each writing behind the one before it, and nowhere else', () => {
  const state = logOf(
    looping('each'),
    passBegins('each', 0),
    passBegins('each', 1),
    asked('a@each[0]'),
    asked('b@each[0]'),
    asked('c@each[0]'),
    done('a@each[0]', 'sum'),
    done('b@each[0]', 'sum'),
    done('c@each[0]', 'other'),
  );
  expect(pass(state, 'each[0]')?.contextWrites).toEqual({
    sum: [
      { writtenBy: 7, payload: inline('a@each[0]') },
      { writtenBy: 8, payload: inline('b@each[0]') },
    ],
    other: [{ writtenBy: 9, payload: inline('c@each[0]') }],
  });
  expect(pass(state, 'each[1]')?.contextWrites).toEqual({});
  expect(state.contextWrites.size).toBe(0);
});

test('a name that every object has is written as any other', () => {
  const state = logOf(looping('each'), passBegins('each', 0), asked('a@each[0]'), done('a@each[0]', 'toString'));
  expect(pass(state, 'each[0]')?.contextWrites['toString']).toEqual([{ writtenBy: 4, payload: inline('a@each[0]') }]);
});

test('a pass that has ended is forgotten with its nodes, and the other passes are not', () => {
  const state = logOf(
    looping('each'),
    passBegins('each', 0),
    passBegins('each', 1),
    asked('work@each[0]'),
    asked('work@each[1]'),
    done('work@each[0]'),
    passEnds('each', 0, 'work'),
  );
  expect(keys(state)).toEqual({ nodes: ['each', 'work@each[1]'], open: ['each', 'work@each[1]'], passes: ['each[1]'] });
});

test.each([
  ['that fails', broken('outer')],
  ['that is said to be done', done('outer')],
])('a loop %s takes its passes with it, and those of the loops inside them', (_how, end) => {
  const begun = [
    asked('beside'),
    looping('outer'),
    passBegins('outer', 0),
    looping('inner@outer[0]'),
    passBegins('inner@outer[0]', 0),
    asked('work@outer[0]/inner[0]'),
  ];
  expect(keys(logOf(...begun)).passes).toEqual(['outer[0]', 'outer[0]/inner[0]']);
  expect(keys(logOf(...begun, end))).toEqual({ nodes: ['beside', 'outer'], open: ['beside'], passes: [] });
});

test('a node that fails beside a loop takes no pass with it', () => {
  const state = logOf(asked('beside'), looping('each'), passBegins('each', 0), asked('work@each[0]'), broken('beside'));
  expect(keys(state)).toEqual({ nodes: ['beside', 'each', 'work@each[0]'], open: ['each', 'work@each[0]'], passes: ['each[0]'] });
});

test.each<[string, readonly RunEvent[]]>([
  ['a node in a pass that has not begun', [looping('each'), asked('work@each[0]')]],
  ['a pass out of its turn', [looping('each'), passBegins('each', 1)]],
  ['a pass beyond the items', [looping('each'), ...[0, 1, 2, 3].map((index) => passBegins('each', index))]],
  ['the end of a pass that is not under way', [looping('each'), passEnds('each', 0, 'work')]],
  [
    'a result of a node that has not completed',
    [looping('each'), passBegins('each', 0), asked('work@each[0]'), passEnds('each', 0, 'work')],
  ],
  ['a pass of what is no loop', [asked('each'), passBegins('each', 0)]],
])('%s is refused', (_what, events) => {
  expect(() => logOf(...events)).toThrow(
    /iteration each\[0\] is not open|but the next of its 3 is|ended iteration 0, which is not open|has not completed|is not an open loop/,
  );
});
