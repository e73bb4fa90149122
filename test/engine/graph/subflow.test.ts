/** A node that calls a workflow ends once, with the end of the called run or the expiry of its wait. */
import { expect, test } from 'vitest';
import { failureOfChild } from '../../../lib/engine/graph/waits.ts';
import type { ChildEnd } from '../../../lib/engine/graph/facts.ts';
import { nodeId, nodeKey, runId, topLevel } from '../../../lib/engine/ids.ts';
import { attentionOf } from '../../../lib/engine/log/open-nodes.ts';
import { nextCheck, heartbeatStates } from '../../../lib/engine/log/heartbeat-timeout.ts';
import { restoreFold, storeFold } from '../../../lib/engine/log/stored-fold.ts';
import { type FailureCause, failureCauses } from '../../../lib/engine/retry.ts';
import { after, days, hours, minutes } from '../../../lib/engine/time.ts';
import { calls, graph, completesAtOnce, threeAttempts } from '../graph-builder.ts';
import { type Settings, dawn, started, describeEvents } from '../graph-run-fixture.ts';

type Call = Parameters<typeof calls>[0];

const calling = (traits: Call = {}, settings: Settings = {}, attempts = false) =>
  started(
    graph({
      nodes: {
        start: completesAtOnce,
        call: { pure: calls(traits), outputVariable: 'shipped', ...(attempts ? { retry: threeAttempts } : {}) },
      },
      edges: ['start -> call -> b', 'call/error -> rescue'],
    }),
    settings,
  );
const inTwoHours = { expiresAt: after(dawn, hours(2)) };
const child = runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV');
const broken: ChildEnd = { status: 'failed', error: { cause: 'provider_error', code: 'http_503', message: 'it broke' } };

test('a call is made in the commit that makes the node ready, with one run id per attempt', () => {
  const play = calling();
  expect(describeEvents(play.commits[0]?.events ?? [])).toEqual([
    'INPUT_SET',
    'RUN_STARTED',
    'NODE_COMPLETED start',
    'SUBFLOW_CALLED call',
  ]);
  const { childRunId } = play.childEnded('call');
  expect(calling().childEnded('call').childRunId).toBe(childRunId);
  expect(play.node('call')).toMatchObject({ status: 'waiting', for: 'child', childRunId, workflowName: 'ship' });
});

test('the output of the called run is the node’s, and the next node is dispatched in the same commit', () => {
  const play = calling();
  const { childRunId } = play.childEnded('call');
  const said = play.decide(play.childEnded('call', { status: 'completed', output: { parcel: 3 } }));
  expect(describeEvents(said)).toEqual(['RUN_STATUS_CHANGED', 'NODE_COMPLETED call', 'NODE_SKIPPED rescue', 'NODE_DISPATCHED b']);
  expect(play.node('call')).toMatchObject({ status: 'completed', childRunId });
  expect(play.inputOf('b').context.get('shipped')).toEqual({ parcel: 3 });
});

test('the called run ends the node once: a duplicate, or the end of another run, changes nothing', () => {
  const play = calling();
  const end = play.childEnded('call');
  expect(play.decide({ ...end, childRunId: runId('wrun_01M7XSDTEE14XW69VBQD8BT3DC') })).toEqual([]);
  expect(play.decide(end)).not.toEqual([]);
  expect(play.decide(end)).toEqual([]);
});

test.each<[string, ChildEnd, object]>([
  ['failed', broken, { cause: 'error', code: 'subflow_failed', details: { code: 'http_503' } }],
  [
    'exceeded its deadline',
    { status: 'failed', error: { cause: 'deadline', code: 'deadline_exceeded', message: 'late' } },
    { cause: 'timeout', code: 'subflow_failed' },
  ],
  ['was cancelled', { status: 'cancelled', reason: 'no' }, { cause: 'error', code: 'subflow_cancelled' }],
  [
    'could not be created',
    { status: 'refused', error: { cause: 'invalid', code: 'workflow_not_found', message: 'not there' } },
    { cause: 'invalid', code: 'workflow_not_found' },
  ],
])('a run that %s fails the node, and the error branch handles it', (_what, end, failure) => {
  const play = calling();
  play.decide(play.childEnded('call', end));
  expect(play.node('call')).toMatchObject({ status: expect.stringMatching(/failed|timed_out/), failure });
  expect(play.statusOf('rescue')).toBe('queued');
});

test('a retry is another call, of another run', () => {
  const play = calling({}, {}, true);
  const first = play.childEnded('call', broken);
  play.decide(first);
  expect(play.node('call')).toMatchObject({ status: 'queued', attempt: 2 });
  play.advanceTime(minutes(1));
  play.decide(play.ended('call', calls()));
  const second = play.childEnded('call');
  expect(second).toMatchObject({ attempt: 2 });
  expect(second.childRunId).not.toBe(first.childRunId);
  expect(play.decide(first)).toEqual([]);
  expect(describeEvents(play.decide(second))).toContain('NODE_COMPLETED call');
});

test('the cancellation of the called run cancels this one if the node says so', () => {
  const play = calling({ onChildCancelled: 'cancel' });
  play.decide(play.childEnded('call', { status: 'cancelled' }));
  expect(play.status).toBe('cancelled');
});

test('an expired wait fails like a timeout, and not before', () => {
  const play = calling(inTwoHours);
  expect(play.decide(play.woken('call'))).toEqual([]);
  play.advanceTime(hours(2));
  play.decide(play.woken('call'));
  expect(play.node('call')).toMatchObject({ status: 'timed_out', failure: { cause: 'timeout', code: 'subflow_expired' } });
});

test('an expiry after the deadline is dropped', () => {
  const play = calling({ expiresAt: after(dawn, days(8)) });
  expect(play.node('call')).not.toHaveProperty('expiresAt');
});

test('a wait is not a heartbeat timeout: the sweep checks it rarely, and finds the called run', () => {
  const play = calling();
  expect(heartbeatStates(play.state, [], after(dawn, days(3)))).toEqual([
    ['call', { kind: 'awaiting', wait: play.node('call'), wasCheckedRecently: false }],
  ]);
  expect(nextCheck(play.state, after(dawn, days(7)), dawn)).toBe(after(dawn, minutes(10)));
  expect(nextCheck(play.state, after(dawn, days(7)), after(dawn, days(3)))).toBe(after(after(dawn, days(3)), hours(6)));
  expect(attentionOf(play.state, dawn)).toBe('waiting');
});

test('a cancel of this run leaves the data of its call', () => {
  const play = calling();
  const { childRunId } = play.childEnded('call');
  play.decide({ kind: 'cancel-requested' });
  expect(play.node('call')).toMatchObject({ status: 'cancelled', childRunId });
});

test('a stored fold keeps the wait', () => {
  const play = calling(inTwoHours);
  expect(restoreFold(storeFold(play.state)).nodes.get(nodeKey({ nodeId: nodeId('call'), iteration: topLevel }))).toEqual(
    play.node('call'),
  );
});

test.each(failureCauses)(
  'a run that failed by %s fails its caller with a cause that is retried only if that can help',
  (cause) => {
    const above: Partial<Record<FailureCause, FailureCause>> = {
      deadline: 'timeout',
      invalid: 'invalid',
      forbidden: 'invalid',
      budget: 'invalid',
      code_error: 'invalid',
    };
    expect(failureOfChild({ status: 'failed', error: { cause, message: 'it broke' } }, child)).toEqual({
      cause: above[cause] ?? 'error',
      code: 'subflow_failed',
      message: 'the called run failed: it broke',
      details: { childRunId: child, code: cause },
    });
  },
);

test.each([
  [undefined, 'the called run was cancelled'],
  ['not needed', 'the called run was cancelled: not needed'],
])('a run that was cancelled (%s) is named in its caller’s failure', (reason, message) => {
  const end: ChildEnd = { status: 'cancelled', ...(reason === undefined ? {} : { reason }) };
  expect(failureOfChild(end, child)).toEqual({
    cause: 'error',
    code: 'subflow_cancelled',
    message,
    details: { childRunId: child },
  });
});

test('a call that could not be created fails with the given error, and a completed run causes no failure', () => {
  const error = { cause: 'invalid', message: 'no such workflow' } as const;
  expect(failureOfChild({ status: 'refused', error }, child)).toEqual(error);
  expect(failureOfChild({ status: 'completed', output: 1 }, child)).toBeUndefined();
});
