/** The update of each event for WebSocket watchers. */
import { expect, test } from 'vitest';
import { attempt, nodeId, iterationKeyOf, topLevel } from '../../../lib/engine/ids.ts';
import type { Failure, RunEvent } from '../../../lib/engine/log/events.ts';
import { isNodeEnd, updateOf } from '../../../lib/engine/log/socket-update.ts';
import { durationMs, instant } from '../../../lib/engine/time.ts';

const at = instant(0);
const of = { nodeId: nodeId('ask'), iteration: topLevel, attempt: attempt(2) };
const span = { startedAt: at, endedAt: at };
const failure = (facts: Partial<Failure> = {}): Failure => ({ cause: 'error', message: 'no', ...facts });
const failed = (facts: Partial<Failure> = {}): RunEvent => ({ ...of, ...span, type: 'NODE_FAILED', failure: failure(facts) });

test.each<[RunEvent, string]>([
  [{ ...of, type: 'NODE_DISPATCHED', via: 'queue', wave: 1 }, 'queued'],
  [{ ...of, type: 'NODE_STARTED', startedAt: at }, 'running'],
  [{ ...of, type: 'SLEEP_STARTED', wakeAt: at, output: { value: 1 } }, 'waiting'],
  [{ ...of, type: 'SIGNAL_AWAITED', name: 'paid', correlation: '' }, 'waiting'],
  [{ ...of, ...span, type: 'NODE_COMPLETED', output: { value: 1 }, handle: null }, 'completed'],
  [{ ...of, ...span, type: 'NODE_RETRIED', failure: failure(), delayMs: durationMs(1), retryAt: at, via: 'queue' }, 'queued'],
  [failed(), 'failed'],
  [failed({ cause: 'timeout' }), 'timed_out'],
  [failed({ status: 'blocked' }), 'blocked'],
  [failed({ status: 'invalidated', cause: 'timeout' }), 'invalidated'],
  [{ ...of, type: 'NODE_SKIPPED', reason: 'branch_not_taken' }, 'skipped'],
])('%j: its node is %s', (event, status) => {
  const update = updateOf(event);
  expect(update).toMatchObject({ kind: 'node', nodeId: 'ask', status });
  expect(update?.kind === 'node' && isNodeEnd(update)).toBe(!['queued', 'running', 'waiting'].includes(status));
});

test('a completion has its output, a failure and a retry their error', () => {
  expect(updateOf({ ...of, ...span, type: 'NODE_COMPLETED', output: { ref: 'blob:a', bytes: 9 }, handle: null })).toMatchObject({
    output: { ref: 'blob:a', bytes: 9 },
    attempt: 2,
  });
  expect(updateOf(failed({ code: 'narrow' }))).toMatchObject({ error: { code: 'narrow', cause: 'error', message: 'no' } });
});

test.each<[RunEvent, string]>([
  [{ type: 'RUN_STATUS_CHANGED', status: 'running' }, 'running'],
  [{ type: 'RUN_COMPLETED', output: { value: 1 } }, 'completed'],
  [{ type: 'RUN_FAILED', error: failure() }, 'failed'],
  [{ type: 'RUN_TIMED_OUT', error: failure() }, 'failed'],
  [{ type: 'RUN_CANCELLED' }, 'cancelled'],
])('%j: the run is %s', (event, status) => {
  expect(updateOf(event)).toMatchObject({ kind: 'run', status });
});

test.each<RunEvent>([
  { type: 'RUN_STARTED' },
  { type: 'INPUT_SET', input: { value: 1 } },
  // The event of the end follows and causes the update.
  { type: 'RUN_STATUS_CHANGED', status: 'completed' },
  { type: 'RUN_RECOVERED', nodes: [] },
  { ...of, iteration: iterationKeyOf({ nodeId: nodeId('each'), iteration: topLevel }, 0), type: 'NODE_WOKEN' },
])('%j causes no update', (event) => {
  expect(updateOf(event)).toBeUndefined();
});
