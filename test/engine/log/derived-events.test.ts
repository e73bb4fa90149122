/** The start of a step of code, which no commit records. */
import { expect, test } from 'vitest';
import { attempt, commitNo, environment, nodeId, projectId, runId, topLevel, workflowName } from '../../../lib/engine/ids.ts';
import { unrecordedStarts } from '../../../lib/engine/log/derived-events.ts';
import { applyEvent, emptyState } from '../../../lib/engine/log/fold.ts';
import { after, durationMs, instant, iso, seconds } from '../../../lib/engine/time.ts';

const noon = instant(Date.UTC(2026, 10, 21, 12));
const address = {
  projectId: projectId('p'),
  environment: environment('e'),
  runId: runId('wrun_01KDVDNA0001ZPGCE7HQSG6B6B'),
};
const run = { address, workflow: { name: workflowName('flow') } };

const dispatched = () => {
  const state = emptyState();
  for (const kind of ['function', 'signal-send'] as const)
    applyEvent(
      state,
      {
        type: 'NODE_DISPATCHED',
        nodeId: nodeId(kind),
        iteration: topLevel,
        attempt: attempt(1),
        via: 'inline',
        wave: 0,
        step: { kind, key: kind },
      },
      { commit: commitNo(1), at: noon },
    );
  return state;
};

test('a step function is announced once, after it has run for a second', () => {
  const state = dispatched();
  const announced = new Set<string>();
  const startsAt = (ms: number) =>
    unrecordedStarts(run, state, { now: after(noon, durationMs(ms)), last: 2, announced, heartbeats: new Map() });
  expect(startsAt(999)).toEqual([]);
  expect(startsAt(1_000)).toMatchObject([
    {
      eventId: 2,
      type: 'node.started',
      runId: address.runId,
      timestamp: iso(noon),
      payload: { nodeId: 'function', attempt: 1, startedAt: iso(noon) },
    },
  ]);
  expect(startsAt(5_000)).toEqual([]);
});

test('a step that has ended by then is not announced', () => {
  const state = dispatched();
  const node = { nodeId: nodeId('function'), iteration: topLevel, attempt: attempt(1) };
  applyEvent(
    state,
    { type: 'NODE_COMPLETED', ...node, output: { value: 1 }, handle: null, startedAt: noon, endedAt: after(noon, seconds(1)) },
    { commit: commitNo(2), at: after(noon, seconds(1)) },
  );
  expect(
    unrecordedStarts(run, state, { now: after(noon, seconds(9)), last: 3, announced: new Set(), heartbeats: new Map() }),
  ).toEqual([]);
});
