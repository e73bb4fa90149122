/** The metrics of a commit follow from its events alone, each counted once, with dimensions from small sets. */
import { expect, test } from 'vitest';
import { attempt, commitNo, eventId, nonce } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import type { Failure, RunEvent } from '../../../lib/engine/log/events.ts';
import { metricsOf } from '../../../lib/engine/log/run-metrics.ts';
import { after, seconds } from '../../../lib/engine/time.ts';
import { dawn, foldOf, refOf } from '../graph-run-fixture.ts';

const commitOf = (events: readonly RunEvent[], number = 1, first = 1) => ({
  number: commitNo(number),
  firstEventId: eventId(first),
  events,
  at: after(dawn, seconds(60)),
  by: 'test',
  nonce: nonce('n'),
});

/** The metrics of the last commit: name, dimensions, value. */
const counted = (...commits: readonly (readonly RunEvent[])[]): readonly (readonly unknown[])[] => {
  let first = 1;
  const log = commits.map((events, index) => {
    const made = commitOf(events, index + 1, first);
    first += events.length;
    return made;
  });
  const last = log.at(-1);
  if (last === undefined) return [];
  const run = { workflowName: 'order', createdAt: dawn, state: foldOf(log), typeOf: () => 'http' };
  return metricsOf(last, run).map(({ name, value, dimensions }) => [name, ...Object.values(dimensions), value]);
};

const broke: Failure = { cause: 'provider_error', message: 'it broke' };
const ended = { ...refOf('a'), startedAt: dawn, endedAt: after(dawn, seconds(7)) };
const dispatched: RunEvent = { type: 'NODE_DISPATCHED', ...refOf('a'), attempt: attempt(1), via: 'queue', wave: 0 };
const retried: RunEvent = {
  type: 'NODE_RETRIED',
  ...ended,
  attempt: attempt(1),
  failure: broke,
  delayMs: seconds(1),
  retryAt: after(dawn, seconds(8)),
  via: 'queue',
  tokens: { input: 30, output: 4 },
};
const failed: RunEvent = { type: 'NODE_FAILED', ...ended, attempt: attempt(1), failure: broke, handle: 'error' };
const completed: RunEvent = { type: 'NODE_COMPLETED', ...ended, attempt: attempt(1), output: inline(1), handle: 'output' };
const runCompleted: RunEvent = { type: 'RUN_COMPLETED', output: inline(1) };

test.each<[string, string, RunEvent]>([
  ['completed', 'completed', runCompleted],
  ['failed', 'failed', { type: 'RUN_FAILED', error: broke }],
  ['timed out', 'failed', { type: 'RUN_TIMED_OUT', error: broke }],
  ['cancelled', 'cancelled', { type: 'RUN_CANCELLED' }],
])('a run that has %s counts as %s, with its duration', (_how, status, event) => {
  expect(counted([event])).toEqual([
    ['RunsEnded', 'order', status, 1],
    ['RunDuration', 'order', status, 60_000],
  ]);
});

test('a completed node counts with its duration, attempts and tokens', () => {
  const second: RunEvent = { ...completed, attempt: attempt(2), tokens: { input: 5, output: 6 } };
  expect(counted([dispatched, retried], [second])).toEqual([
    ['NodeDuration', 'http', 'completed', 7_000],
    ['NodeAttempts', 'http', 'completed', 2],
    ['TokensUsed', 'order', 'input', 5],
    ['TokensUsed', 'order', 'output', 6],
  ]);
});

test('a retried attempt counts as failed with its tokens, and its node has not ended', () => {
  expect(counted([dispatched], [retried])).toEqual([
    ['AttemptsFailed', 'http', 'provider_error', 1],
    ['TokensUsed', 'order', 'input', 30],
    ['TokensUsed', 'order', 'output', 4],
    ['Tags', 'node_retried', 'warn', 1],
  ]);
});

test('a failed node counts as a failed attempt and an ended node, without tokens if it reported none', () => {
  expect(counted([dispatched], [failed])).toEqual([
    ['AttemptsFailed', 'http', 'provider_error', 1],
    ['NodeDuration', 'http', 'failed', 7_000],
    ['NodeAttempts', 'http', 'failed', 1],
    ['Tags', 'node_failed', 'warn', 1],
  ]);
});

test('tags that need no attention are not counted', () => {
  expect(counted([dispatched], [{ type: 'NODE_STARTED', ...refOf('a'), attempt: attempt(1), startedAt: dawn }])).toEqual([]);
});

test.each<[string, RunEvent]>([
  ['failed', failed],
  ['took too long', { ...failed, failure: { cause: 'timeout', message: 'late' } }],
])('a run that completes although a node %s is a partial success, whichever commit recorded it', (_how, end) => {
  const tag = ['Tags', 'partial_success', 'warn', 1];
  expect(counted([dispatched, end], [runCompleted])).toContainEqual(tag);
  expect(counted([dispatched, end, runCompleted]).filter(([, name]) => name === 'partial_success')).toEqual([tag]);
});

test('a run that completes without a failure, and a run that fails, are no partial success', () => {
  const names = (...commits: readonly (readonly RunEvent[])[]) => counted(...commits).map(([name]) => name);
  expect(names([dispatched, completed], [runCompleted])).toEqual(['RunsEnded', 'RunDuration']);
  expect(names([dispatched, failed], [{ type: 'RUN_FAILED', error: broke }])).toEqual(['RunsEnded', 'RunDuration']);
});
