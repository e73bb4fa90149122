/** A join fires once in any timing, and never waits for a branch that is not taken. */
import { expect, test } from 'vitest';
import { type EdgeState, type JoinDecision, decideJoin } from '../../../lib/engine/graph/edges.ts';
import type { NodePolicy } from '../../../lib/engine/graph/plan.ts';
import { type GraphSpec, type NodeTraits, failed, finished, graph, names, completesAtOnce } from '../graph-builder.ts';
import { type GraphRunFixture, started, describeEvents } from '../graph-run-fixture.ts';

/** All permutations. */
const orders = (all: readonly string[]): readonly (readonly string[])[] =>
  all.length === 0 ? [[]] : all.flatMap((first) => orders(all.filter((one) => one !== first)).map((rest) => [first, ...rest]));

const fanIn = (joinMode: 'all' | 'any', parents = ['a', 'b', 'c']): GraphSpec => ({
  nodes: { start: completesAtOnce, join: { joinMode } },
  edges: parents.map((id) => `start -> ${id} -> join`),
});

/** Number of the fact that dispatched the node: 1 for the first after the start. */
const firings = (play: GraphRunFixture, id: string): number =>
  play.eventsOf('NODE_DISPATCHED').filter((event) => event.nodeId === id).length;

test.each(orders(['a', 'b', 'c']))('an all-join fires with the last of %s, %s, %s', (...order) => {
  const play = started(graph(fanIn('all')));
  for (const [index, id] of order.entries()) {
    expect(play.statusOf('join')).toBe('pending');
    const events = play.ends(id);
    expect(describeEvents(events).includes('NODE_DISPATCHED join')).toBe(index === 2);
  }
  play.ends('join');
  expect([play.status, firings(play, 'join')]).toEqual(['completed', 1]);
});

test.each(orders(['a', 'b', 'c', 'join']).filter((order) => order[0] !== 'join'))(
  'an any-join fires with the first of %s, %s, %s, %s, and later ones change nothing',
  (...order) => {
    const play = started(graph(fanIn('any')));
    for (const [index, id] of order.entries()) {
      const events = play.ends(id);
      expect(describeEvents(events).includes('NODE_DISPATCHED join')).toBe(index === 0);
    }
    expect([play.status, firings(play, 'join')]).toEqual(['completed', 1]);
  },
);

test('an any-join’s late parent keeps the run open, and its late failure does not undo the join', () => {
  const play = started(graph(fanIn('any', ['a', 'b'])));
  play.ends('a');
  play.ends('join');
  expect(play.status).toBe('running');
  play.ends('b', failed());
  expect(play.statuses('a', 'b', 'join')).toEqual(['completed', 'failed', 'completed']);
  expect(play.status).toBe('completed');
});

test.each(orders(['a', 'b']))('parents that end in one commit, %s before %s, fire an all-join once', (...order) => {
  const play = started(graph(fanIn('all', ['a', 'b'])));
  const events = play.decide(...order.map((id) => play.ended(id)));
  expect(describeEvents(events).filter((one) => one === 'NODE_DISPATCHED join')).toHaveLength(1);
});

test('two edges from one parent count as one parent', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce },
      edges: [
        'start -> a',
        { from: 'a -> join', sourceOutputKey: 'x', targetParamLabel: 'x' },
        { from: 'a -> join', sourceOutputKey: 'y', targetParamLabel: 'y' },
      ],
    }),
  );
  play.ends('a', finished({ x: 1, y: 2 }));
  expect(firings(play, 'join')).toBe(1);
});

const choice = (handle: string): Readonly<Record<string, NodeTraits>> => ({
  start: completesAtOnce,
  check: { pure: finished(null, handle) },
});

test.each(['yes', 'no'])('a join behind a condition waits only for the branch taken: %s', (taken) => {
  const play = started(
    graph({ nodes: choice(taken), edges: ['start -> check', 'check/yes -> yes -> join', 'check/no -> no -> join'] }),
  );
  const other = taken === 'yes' ? 'no' : 'yes';
  expect(play.statuses(taken, other, 'join')).toEqual(['queued', 'skipped', 'pending']);
  play.ends(taken);
  expect(firings(play, 'join')).toBe(1);
  play.ends('join');
  expect(play.status).toBe('completed');
});

test('a branch not taken is skipped to its end, through a deep diamond, in the deciding commit', () => {
  const layers = names(200, 'd').flatMap((id, index) => [`${id} -> ${id}l -> d${index + 1}`, `${id} -> ${id}r -> d${index + 1}`]);
  const play = started(
    graph({
      nodes: choice('short'),
      edges: ['start -> check', 'check/long -> d0', 'check/short -> s -> join', ...layers, 'd200 -> join'],
    }),
  );
  expect(play.commits).toHaveLength(1);
  expect(play.eventsOf('NODE_SKIPPED')).toHaveLength(601);
  expect(new Set(play.eventsOf('NODE_SKIPPED').map(({ reason }) => reason))).toEqual(new Set(['branch_not_taken']));
  play.ends('s');
  play.ends('join');
  expect(play.status).toBe('completed');
});

test('a node with one live and one dead edge is not skipped', () => {
  const play = started(
    graph({ nodes: choice('yes'), edges: ['start -> check', 'check/no -> lost -> join', 'check/yes -> join', 'lost -> gone'] }),
  );
  expect(play.statuses('lost', 'gone', 'join')).toEqual(['skipped', 'skipped', 'queued']);
});

test('an edge without a handle, `output` and `success` are all the main handle', () => {
  const edges = ['start -> a', 'a -> x', 'a/output -> y', 'a/success -> z', 'a/other -> gone'];
  for (const handle of ['output', 'success']) {
    const play = started(graph({ nodes: { start: completesAtOnce }, edges }));
    play.ends('a', finished(null, handle));
    expect(play.statuses('x', 'y', 'z', 'gone')).toEqual(['queued', 'queued', 'queued', 'skipped']);
  }
});

test('a node that ends its branch skips everything after it', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b', 'a/error -> c'] }));
  play.ends('a', finished(null, null));
  expect([play.statuses('b', 'c'), play.status]).toEqual([['skipped', 'skipped'], 'completed']);
});

test.each(orders(['a', 'b']))('an error edge into a join counts as its branch, with %s before %s', (...order) => {
  const play = started(
    graph({ nodes: { start: completesAtOnce }, edges: ['start -> a', 'start -> b -> join', 'a/error -> join', 'a -> onward'] }),
  );
  for (const id of order) play.ends(id, id === 'a' ? failed() : finished());
  expect(play.statuses('a', 'onward', 'join')).toEqual(['failed', 'skipped', 'queued']);
  play.ends('join');
  expect(play.status).toBe('completed');
});

test.each(orders(['a', 'b']))('an unused error edge does not delay its join, with %s before %s', (...order) => {
  const play = started(
    graph({ nodes: { start: completesAtOnce }, edges: ['start -> a', 'start -> b -> join', 'a/error -> join'] }),
  );
  for (const id of order) play.ends(id);
  expect(play.statusOf('join')).toBe('queued');
});

const states: readonly EdgeState[] = ['unresolved', 'live', 'dead', 'source_failed', 'upstream_failed'];
const policies = ['skip', 'propagate', 'substitute_default'] as const;

/** The rule of docs/decisions/edges-are-never-stored.md, implemented differently from the engine. */
const expected = (
  edges: readonly EdgeState[],
  { joinMode, onParentFailure }: Pick<NodePolicy, 'joinMode' | 'onParentFailure'>,
): JoinDecision => {
  const count = (state: EdgeState): number => edges.filter((edge) => edge === state).length;
  if (joinMode === 'any' && count('live') > 0) return 'fire';
  if (count('unresolved') > 0) return 'wait';
  if (count('source_failed') > 0)
    return ({ skip: 'skip_parent', propagate: 'upstream_failure', substitute_default: 'fire' } as const)[onParentFailure];
  if (count('live') > 0) return 'fire';
  if (count('upstream_failed') === 0) return 'skip_branch';
  return onParentFailure === 'substitute_default' ? 'fire' : 'skip_parent';
};

test('every combination of three edges has the decision of the rules, in any order of the edges', () => {
  for (const joinMode of ['all', 'any'] as const) {
    for (const onParentFailure of policies) {
      for (const x of states) {
        for (const y of states) {
          for (const z of states)
            expect(decideJoin(new Set([x, y, z]), { joinMode, onParentFailure })).toBe(
              expected([z, x, y], { joinMode, onParentFailure }),
            );
        }
      }
    }
  }
});
