/** What a run says of itself in its first commit: whether it is a test, whether it carries its graph, and who made it. */
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
import { tombstoneCommit, isTombstone } from '../../../lib/engine/log/tombstone.ts';
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

test('a test run is one that says so; it carries its graph only where nobody has published that', () => {
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

test('a run is pinned to its published version, or to the graph that it carries itself; code is pinned to none', () => {
  expect(pinnedVersion(ofGraph(3))).toEqual({ name: 'order', version: 3 });
  expect(pinnedVersion(ofGraph(0, true))).toEqual({ name: 'order', version: 0, carriedBy: address });
  expect(() => pinnedVersion(ofCode)).toThrow('not a graph run');
});

test('a rerun says of which run, and from which node where it did not begin anew', () => {
  const [anew, onward] = [made(rerunSystemValues(theRun)), made(rerunSystemValues(theRun, nodeId('b')))];
  expect([rerunOf(anew), rerunFrom(anew), rerunOf(onward), rerunFrom(onward)]).toEqual([theRun, undefined, theRun, 'b']);
  expect(rerunSystemValues(theRun)).toStrictEqual({ __rerunOf: theRun });
  expect([rerunOf(made()), rerunFrom(made())]).toEqual([undefined, undefined]);
});

test('a called run says by whom, and what becomes of it when it is left', () => {
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

test('a run that a schedule started says which, and the time that was due', () => {
  const at = instant(1_795_132_800_000);
  expect(scheduleOf(made(scheduleSystemValues(scheduleId('nightly'), at)))).toEqual({ scheduleId: 'nightly', scheduledAt: at });
  expect(scheduleOf(made())).toBeUndefined();
});

test.each<[string, Readonly<Record<string, JsonValue>>]>([
  ['a run id that is none', { __rerunOf: 'wrun_1', __rerunFrom: 'no node' }],
  ['what is no text', { __rerunOf: 7, __rerunFrom: null, __scheduleId: 7, __scheduledAt: 7 }],
  ['a caller that is none', { __calledBy: 'somebody' }],
  ['a caller without an attempt', { __calledBy: { runId: theRun, nodeId: 'a', iteration: '', depth: 1 } }],
  ['a caller without a depth', { __calledBy: { runId: theRun, nodeId: 'a', iteration: '', attempt: 1 } }],
  ['a caller without a run', { __calledBy: { nodeId: 'a', iteration: '', attempt: 1, depth: 1 } }],
  ['a caller without a node', { __calledBy: { runId: theRun, iteration: '', attempt: 1, depth: 1 } }],
  ['a caller without a pass', { __calledBy: { runId: theRun, nodeId: 'a', attempt: 1, depth: 1 } }],
  ['a time that is none', { __scheduleId: 'nightly', __scheduledAt: 'at 7' }],
  ['a time far beyond all', { __scheduleId: 'nightly', __scheduledAt: '1234567890123456' }],
  ['a schedule without a time', { __scheduleId: 'nightly' }],
  ['a time without a schedule', { __scheduledAt: '7' }],
  ['a name that no schedule may have', { __scheduleId: '-', __scheduledAt: '7' }],
])('%s is not believed', (_what, system) => {
  const run = made(system);
  expect([rerunOf(run), rerunFrom(run), callerOf(run), scheduleOf(run)]).toEqual([undefined, undefined, undefined, undefined]);
});

test('the commit of a run that was forgotten is known as one, says nothing but that the run is over, and keeps its slot', () => {
  const { commit } = made();
  expect(isTombstone(commit)).toBe(false);
  const forgotten = tombstoneCommit({ ...commit, at: instant(7) });
  expect(isTombstone(forgotten)).toBe(true);
  expect(forgotten).toMatchObject({ number: 1, firstEventId: 1, at: 7, events: [{ type: 'RUN_CANCELLED' }] });
});
