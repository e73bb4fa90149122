/** The public form of a commit: dense ids, dotted names, times as text. */
import { expect, test } from 'vitest';
import { commitNo, correlationId, environment, eventId, nonce, projectId, runId } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { type RunIdentity, publicEvents } from '../../../lib/engine/log/public-event.ts';
import { iterationKey } from '../../../lib/engine/ids.ts';
import { instant, seconds } from '../../../lib/engine/time.ts';
import { traceparent } from '../../../lib/engine/trace.ts';
import { failed, graph, completesAtOnce, sleepsUntil, threeAttempts } from '../graph-builder.ts';
import { GraphRunFixture, dawn, nth, refOf } from '../graph-run-fixture.ts';

const run: RunIdentity = {
  address: {
    projectId: projectId('shop'),
    environment: environment('production'),
    runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV'),
  },
  workflow: { name: 'order', version: 3 },
};

const commitOf = (...events: readonly RunEvent[]): Commit => ({
  number: commitNo(3),
  firstEventId: eventId(7),
  events,
  at: dawn,
  by: 'test',
  nonce: nonce('n'),
});

test('an event has the common envelope, and ids count on from the commit’s first', () => {
  const [first, second] = publicEvents(
    run,
    commitOf({ type: 'RUN_STARTED' }, { type: 'NODE_SKIPPED', ...refOf('a'), reason: 'branch_not_taken' }),
  );
  expect(first).toEqual({
    eventId: 7,
    sequence: 7,
    type: 'run.started',
    runId: 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    workflowId: 'order',
    timestamp: '2026-11-20T00:00:00.000Z',
    payload: {},
  });
  expect(second).toMatchObject({
    eventId: 8,
    sequence: 8,
    type: 'node.skipped',
    payload: { nodeId: 'a', reason: 'branch_not_taken' },
  });
});

test('the correlation of a traced run is in the envelope', () => {
  const trace = {
    correlationId: correlationId('order 17'),
    traceparent: traceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
  };
  const queued: RunEvent = { type: 'NODE_DISPATCHED', ...refOf('a'), attempt: nth(1), via: 'queue', wave: 2 };
  const correlations = (told: RunIdentity) =>
    publicEvents(told, commitOf({ type: 'RUN_STARTED' }, queued)).map((one) => one.correlation);
  expect(correlations(run)).toEqual([undefined, { wave: 2 }]);
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  expect(correlations({ ...run, trace })).toEqual([{ traceId }, { traceId, wave: 2 }]);
});

test('the iteration is in the payload if there is one', () => {
  const skipped = { type: 'NODE_SKIPPED', nodeId: refOf('a').nodeId, reason: 'branch_not_taken' } as const;
  const [outside, inside] = publicEvents(
    run,
    commitOf({ ...skipped, iteration: refOf('a').iteration }, { ...skipped, iteration: iterationKey('each[3]') }),
  );
  expect(outside?.payload).toEqual({ nodeId: 'a', reason: 'branch_not_taken' });
  expect(inside?.payload).toEqual({ nodeId: 'a', reason: 'branch_not_taken', iteration: 'each[3]' });
});

test('times are text in UTC, and durations are milliseconds', () => {
  const at = instant(0);
  const text = '1970-01-01T00:00:00.000Z';
  const node = { ...refOf('a'), attempt: nth(1) };
  const told = publicEvents(
    run,
    commitOf(
      { type: 'NODE_DISPATCHED', ...node, via: 'queue', wave: 0, notBefore: at },
      { type: 'NODE_STARTED', ...node, startedAt: at },
      { type: 'SLEEP_STARTED', ...node, wakeAt: at, output: inline({ sentAt: 5 }) },
      {
        type: 'NODE_RETRIED',
        ...node,
        failure: { cause: 'error', message: 'broke' },
        delayMs: seconds(1),
        retryAt: at,
        startedAt: at,
        endedAt: at,
        via: 'queue',
      },
    ),
  ).map(({ payload }) => payload);
  expect(told[0]).toMatchObject({ notBefore: text });
  expect(told[1]).toMatchObject({ startedAt: text });
  expect(told[2]).toMatchObject({ wakeAt: text, output: { value: { sentAt: 5 } } });
  expect(told[3]).toMatchObject({ retryAt: text, startedAt: text, endedAt: text, delayMs: 1_000 });
});

test('a whole run has dense event ids', () => {
  const play = new GraphRunFixture(
    graph({
      edges: ['start -> a -> b', 'start -> nap -> b'],
      nodes: { start: completesAtOnce, a: { retry: threeAttempts }, nap: { pure: sleepsUntil(dawn) } },
    }),
  );
  play.start({ order: 1 });
  play.decide(play.started('a'));
  play.ends('a', failed());
  play.ends('a');
  play.decide(play.woken('nap'));
  play.ends('b');
  const told = play.commits.flatMap((commit) => publicEvents(run, commit));
  expect(told.map(({ eventId: id }) => id)).toEqual(told.map((_, index) => index + 1));
  expect(told.at(-1)).toMatchObject({ type: 'run.completed' });
  expect(JSON.parse(JSON.stringify(told))).toEqual(told);
});
