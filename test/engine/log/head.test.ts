/** What the first commit of a run records: test run, carried graph, origin. */
import { expect, test } from 'vitest';
import {
  attempt,
  deploymentId,
  environment,
  eventId,
  firstCommit,
  nodeId,
  nonce,
  projectId,
  runId,
  scheduleId,
  topLevel,
} from '../../../lib/engine/ids.ts';
import type { JsonValue } from '../../../lib/engine/json.ts';
import { tombstoneCommit, isTombstone } from '../../../lib/engine/log/commit.ts';
import { type RunCreation, carriesGraph, isTestRun, pinnedVersion } from '../../../lib/engine/log/head.ts';
import {
  type Caller,
  callerOf,
  rerunFrom,
  rerunOf,
  scheduleOf,
  callerSystemValues,
  rerunSystemValues,
  scheduleSystemValues,
} from '../../../lib/engine/log/lineage.ts';
import { instant } from '../../../lib/engine/time.ts';
import { dawn, theRun } from '../graph-run-fixture.ts';

const address = { projectId: projectId('shop'), environment: environment('test'), runId: theRun };

const made = (system: Readonly<Record<string, JsonValue>> = {}) => ({
  address,
  createdAt: dawn,
  deadlineAt: dawn,
  expiresAt: dawn,
  bodyHash: '',
  commit: {
    number: firstCommit,
    firstEventId: eventId(1),
    events: Object.entries(system).map(([key, value]) => ({ type: 'SYSTEM_SET' as const, key, value: { value } })),
    at: dawn,
    by: 'test',
    nonce: nonce('n'),
  },
});
const ofGraph = (version: number, isTest?: true): RunCreation => ({
  ...made(),
  kind: 'graph',
  workflow: { name: 'order', version },
  deploymentId: null,
  ...(isTest === undefined ? {} : { isTest }),
});
const ofCode: RunCreation = { ...made(), kind: 'code', workflow: { name: 'order' }, deploymentId: deploymentId('d1') };

test('a test run is marked; it carries its graph only if that is unpublished', () => {
  const said = [ofGraph(0, true), ofGraph(3, true), ofGraph(3), ofGraph(0), ofCode].map((run) => [
    isTestRun(run),
    carriesGraph(run),
  ]);
  expect(said).toEqual([
    [true, true],
    [true, false],
    [false, false],
    [false, false],
    [false, false],
  ]);
});

test('a graph run is pinned to its published version or carried graph; a code run to neither', () => {
  expect(pinnedVersion(ofGraph(3))).toEqual({ name: 'order', version: 3 });
  expect(pinnedVersion(ofGraph(0, true))).toEqual({ name: 'order', version: 0, carriedBy: address });
  expect(() => pinnedVersion(ofCode)).toThrow('not a graph run');
});

test('a rerun names its original run, and the node if it did not start from the beginning', () => {
  const [fromStart, onward] = [made(rerunSystemValues(theRun)), made(rerunSystemValues(theRun, nodeId('b')))];
  expect([rerunOf(fromStart), rerunFrom(fromStart), rerunOf(onward), rerunFrom(onward)]).toEqual([
    theRun,
    undefined,
    theRun,
    'b',
  ]);
  expect(rerunSystemValues(theRun)).toStrictEqual({ __rerunOf: theRun });
  expect([rerunOf(made()), rerunFrom(made())]).toEqual([undefined, undefined]);
});

test('a called run names its caller and its parent close policy', () => {
  const caller: Caller = {
    runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV'),
    nodeId: nodeId('ship'),
    iteration: topLevel,
    attempt: attempt(2),
    depth: 3,
    parentClosePolicy: 'abandon',
  };
  expect(callerOf(made(callerSystemValues(caller)))).toEqual(caller);
  expect(callerOf(made(callerSystemValues({ ...caller, parentClosePolicy: 'cancel' })))).toEqual({
    ...caller,
    parentClosePolicy: 'cancel',
  });
  expect(callerOf(made())).toBeUndefined();
});

test('a scheduled run names its schedule and due time', () => {
  const at = instant(1_795_132_800_000);
  expect(scheduleOf(made(scheduleSystemValues(scheduleId('nightly'), at)))).toEqual({ scheduleId: 'nightly', scheduledAt: at });
  expect(scheduleOf(made())).toBeUndefined();
});

test.each<[string, Readonly<Record<string, JsonValue>>]>([
  ['an invalid run id', { __rerunOf: 'wrun_1', __rerunFrom: 'no node' }],
  ['a value that is not text', { __rerunOf: 7, __rerunFrom: null, __scheduleId: 7, __scheduledAt: 7 }],
  ['an invalid caller', { __calledBy: 'someone' }],
  ['a caller without an attempt', { __calledBy: { runId: theRun, nodeId: 'a', iteration: '', depth: 1 } }],
  ['a caller without a depth', { __calledBy: { runId: theRun, nodeId: 'a', iteration: '', attempt: 1 } }],
  ['a caller without a run', { __calledBy: { nodeId: 'a', iteration: '', attempt: 1, depth: 1 } }],
  ['a caller without a node', { __calledBy: { runId: theRun, iteration: '', attempt: 1, depth: 1 } }],
  ['a caller without an iteration', { __calledBy: { runId: theRun, nodeId: 'a', attempt: 1, depth: 1 } }],
  ['an invalid time', { __scheduleId: 'nightly', __scheduledAt: 'at 7' }],
  ['a time beyond the range', { __scheduleId: 'nightly', __scheduledAt: '1234567890123456' }],
  ['a schedule without a time', { __scheduleId: 'nightly' }],
  ['a time without a schedule', { __scheduledAt: '7' }],
  ['an invalid schedule name', { __scheduleId: '-', __scheduledAt: '7' }],
])('%s is ignored', (_what, system) => {
  const run = made(system);
  expect([rerunOf(run), rerunFrom(run), callerOf(run), scheduleOf(run)]).toEqual([undefined, undefined, undefined, undefined]);
});

test('a tombstone is recognisable, only cancels the run, and keeps its commit number', () => {
  const { commit } = made();
  expect(isTombstone(commit)).toBe(false);
  const forgotten = tombstoneCommit({ ...commit, at: instant(7) });
  expect(isTombstone(forgotten)).toBe(true);
  expect(forgotten).toMatchObject({ number: 1, firstEventId: 1, at: 7, events: [{ type: 'RUN_CANCELLED' }] });
});
