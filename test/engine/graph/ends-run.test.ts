/** An end that ends the run: the run has its result, and everything else is cancelled in the same commit. */
import { expect, test } from 'vitest';
import { hours, after } from '../../../lib/engine/time.ts';
import {
  type GraphSpec,
  type NodeTraits,
  awaits,
  calls,
  completesAtOnce,
  ends,
  failed,
  finished,
  graph,
  sleepsUntil,
} from '../graph-builder.ts';
import { dawn, describeEvents, started } from '../graph-run-fixture.ts';

const last = (output = {}, end: 'success' | 'error' = 'success'): NodeTraits => ({ pure: ends(output, end), endsRun: true });

const trial = (refused: NodeTraits): GraphSpec => ({
  nodes: {
    start: completesAtOnce,
    approval: { pure: awaits() },
    nap: { pure: sleepsUntil(after(dawn, hours(1))) },
    child: { pure: calls() },
    refused,
  },
  edges: [
    'start -> charge -> end',
    'charge/error -> refused',
    'start -> running',
    'start -> queued',
    'start -> approval -> mail',
    'start -> nap',
    'start -> child',
  ],
});
const siblings = ['running', 'queued', 'approval', 'nap', 'child'];

test.each([
  ['success', 'completed'],
  ['error', 'failed'],
] as const)('an end with the status %s ends the run as %s and cancels everything that is open', (end, status) => {
  const play = started(graph(trial(last({ reason: 'refused' }, end))));
  play.decide(play.started('running'));
  const events = play.ends('charge', failed());
  expect(play.status).toBe(status);
  expect(play.statuses(...siblings)).toEqual(siblings.map(() => 'cancelled'));
  expect(play.statuses('mail', 'end')).toEqual(['pending', 'pending']);
  expect(play.open()).toEqual([]);
  expect(describeEvents(events).slice(0, 2)).toEqual(['NODE_FAILED charge', 'NODE_COMPLETED refused']);
  if (end === 'success')
    expect(play.eventsOf('RUN_COMPLETED').map(({ output }) => output)).toEqual([{ value: { reason: 'refused' } }]);
  else expect(play.error).toMatchObject({ code: 'ended_in_error', details: { nodeId: 'refused' } });
});

test('late facts of the siblings change nothing', () => {
  const play = started(graph(trial(last())));
  const late = [
    play.ended('running'),
    play.ended('queued', failed()),
    play.woken('nap'),
    play.childEnded('child'),
    play.signalled('approval'),
  ];
  play.ends('charge', failed());
  const before = play.commits.length;
  for (const fact of late) expect(play.decide(fact)).toEqual([]);
  expect(play.commits).toHaveLength(before);
});

test('facts behind the end of the run in one decision have no effect', () => {
  const play = started(graph(trial(last())));
  const events = play.decide(play.ended('charge', failed()), play.ended('running'));
  expect(describeEvents(events)).not.toContain('NODE_COMPLETED running');
  expect(play.statusOf('running')).toBe('cancelled');
});

test('the run has the output of this end alone, and a failed leaf does not change its status', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, early: { pure: ends({ early: true }) }, won: last({ won: true }) },
      edges: ['start -> early', 'start -> a', 'start -> b -> won', 'start -> c'],
    }),
  );
  play.ends('a', failed());
  play.ends('b');
  expect(play.status).toBe('completed');
  expect(play.eventsOf('RUN_COMPLETED').map(({ output }) => output)).toEqual([{ value: { won: true } }]);
});

test('of two such ends in one decision, the first ends the run', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, one: last({ is: 1 }), two: last({ is: 2 }) },
      edges: ['start -> a -> one', 'start -> b -> two'],
    }),
  );
  const events = play.decide(play.ended('b'), play.ended('a'));
  expect(describeEvents(events)).not.toContain('NODE_COMPLETED one');
  expect(play.eventsOf('RUN_COMPLETED').map(({ output }) => output)).toEqual([{ value: { is: 2 } }]);
});

test('the end is decided before its siblings, so nothing begins that it cancels at once', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, wait: { pure: awaits() }, won: last() },
      edges: ['start -> a -> wait', 'a -> work', 'a -> won'],
    }),
  );
  expect(describeEvents(play.ends('a', finished()))).toEqual([
    'RUN_STATUS_CHANGED',
    'NODE_COMPLETED a',
    'NODE_COMPLETED won',
    'RUN_STATUS_CHANGED',
    'RUN_COMPLETED',
  ]);
});

test('an end that no edge reaches does not end the run', () => {
  const play = started(
    graph({ nodes: { start: completesAtOnce, won: last() }, edges: ['start -> a', 'a/error -> won', 'start -> b'] }),
  );
  play.ends('a');
  expect([play.statusOf('won'), play.status]).toEqual(['skipped', 'running']);
});
