/** A join fires once in any timing, and never waits for a branch that is not taken. */
import { expect, test } from 'vitest';
import { type EdgeState, type JoinDecision, decideJoin } from '../../../lib/engine/graph/edges.ts';
import { type NodePolicy, joinModes } from '../../../lib/engine/graph/plan.ts';
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

const states: readonly EdgeState[] = ['unresolved', 'live', 'dead', 'source_failed', 'upstream_failed', 'failure_handled'];
const policies = ['skip', 'propagate', 'substitute_default'] as const;

/** The rule of docs/decisions/edges-are-never-stored.md, implemented differently from the engine. */
const expected = (
  edges: readonly EdgeState[],
  { joinMode, onParentFailure }: Pick<NodePolicy, 'joinMode' | 'onParentFailure'>,
): JoinDecision => {
  const count = (state: EdgeState): number => edges.filter((edge) => edge === state).length;
  if (joinMode === 'any' && count('live') > 0) return 'fire';
  if (count('unresolved') > 0) return 'wait';
  if (joinMode === 'allSucceeded') {
    if (count('source_failed') > 0) return onParentFailure === 'propagate' ? 'upstream_failure' : 'skip_parent';
    if (count('upstream_failed') > 0) return 'skip_parent';
    return count('failure_handled') === 0 && count('live') > 0 ? 'fire' : 'skip_branch';
  }
  if (count('source_failed') > 0)
    return ({ skip: 'skip_parent', propagate: 'upstream_failure', substitute_default: 'fire' } as const)[onParentFailure];
  if (count('upstream_failed') > 0) return onParentFailure === 'substitute_default' ? 'fire' : 'skip_parent';
  return count('live') > 0 ? 'fire' : 'skip_branch';
};

test('every combination of three edges has the decision of the rules, in any order of the edges', () => {
  for (const joinMode of joinModes) {
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

/** The trial: both of `reserve` and `charge` lead into the approval, and an error edge handles a refused charge. */
const approval = (joinMode: 'all' | 'allSucceeded', refusal: NodeTraits = { pure: finished() }): GraphSpec => ({
  nodes: { start: completesAtOnce, approval: { joinMode }, refused: refusal },
  edges: ['start -> reserve -> approval -> mail', 'start -> charge -> approval', 'charge/error -> refused'],
});

test.each(orders(['reserve', 'charge']))('an all-succeeded join runs after %s and %s have succeeded', (...order) => {
  const play = started(graph(approval('allSucceeded')));
  for (const id of order) {
    expect(play.statusOf('approval')).toBe('pending');
    play.ends(id);
  }
  expect(play.statusOf('approval')).toBe('queued');
});

test.each(orders(['reserve', 'charge']))(
  'an all-succeeded join does not run after a failure that an error edge handles: %s, %s',
  (...order) => {
    const play = started(graph(approval('allSucceeded')));
    for (const id of order) play.ends(id, id === 'charge' ? failed() : finished());
    expect(play.statuses('charge', 'refused', 'approval', 'mail')).toEqual(['failed', 'completed', 'skipped', 'skipped']);
    expect(play.eventsOf('NODE_SKIPPED').map(({ reason }) => reason)).toEqual(['branch_not_taken', 'branch_not_taken']);
    expect(play.status).toBe('completed');
  },
);

test.each(orders(['a', 'b']))(
  'a failure that no error edge handles keeps a join of mode all from running, also two nodes before it: %s, %s',
  (...order) => {
    const edges = ['start -> a -> join -> mail', 'start -> b -> c -> join'];
    const play = started(graph({ nodes: { start: completesAtOnce }, edges }));
    for (const id of order) play.ends(id, id === 'b' ? failed() : finished());
    expect(play.statuses('b', 'c', 'join', 'mail')).toEqual(['failed', 'skipped', 'skipped', 'skipped']);
    expect(play.status).toBe('failed');
  },
);

test('an all-succeeded join does not run after a node that a handled failure kept from running', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, join: { joinMode: 'allSucceeded' }, refused: completesAtOnce },
      edges: ['start -> a -> join', 'start -> b -> c -> d -> join', 'b/error -> refused'],
    }),
  );
  play.ends('b', failed());
  play.ends('a');
  expect(play.statuses('c', 'd', 'join')).toEqual(['skipped', 'skipped', 'skipped']);
});

test.each(['yes', 'no'])('an all-succeeded join behind a condition runs after the branch that was taken: %s', (taken) => {
  const play = started(
    graph({
      nodes: { ...choice(taken), join: { joinMode: 'allSucceeded' } },
      edges: ['start -> check', 'check/yes -> yes -> join', 'check/no -> no -> join', 'yes/error -> gone', 'no/error -> gone'],
    }),
  );
  play.ends(taken);
  expect(play.statusOf('join')).toBe('queued');
});

test('an error handler that succeeded is a parent that succeeded', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, join: { joinMode: 'allSucceeded' } },
      edges: ['start -> a -> join', 'start -> b', 'b/error -> refund -> join'],
    }),
  );
  play.ends('a');
  play.ends('b', failed());
  play.ends('refund');
  expect(play.statusOf('join')).toBe('queued');
});

test('an error edge never lets an all-succeeded join run, and one that is not taken does not hold it back', () => {
  const spec: GraphSpec = {
    nodes: { start: completesAtOnce, join: { joinMode: 'allSucceeded' } },
    edges: ['start -> a -> join', 'start -> b', 'b/error -> join'],
  };
  const [good, bad] = [started(graph(spec)), started(graph(spec))];
  for (const play of [good, bad]) play.ends('a');
  good.ends('b');
  bad.ends('b', failed());
  expect([good.statusOf('join'), bad.statusOf('join')]).toEqual(['queued', 'skipped']);
});

test.each([
  ['skip', 'skipped'],
  ['propagate', 'failed'],
] as const)('after a failure without an error edge, an all-succeeded join with %s is %s', (onParentFailure, status) => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, join: { joinMode: 'allSucceeded', onParentFailure } },
      edges: ['start -> a -> join', 'start -> b -> join'],
    }),
  );
  play.ends('a');
  play.ends('b', failed());
  expect([play.statusOf('join'), play.status]).toEqual([status, 'failed']);
});

test('an all-succeeded join in a loop decides each iteration by its own nodes', () => {
  const play = started(
    graph({
      nodes: {
        start: completesAtOnce,
        each: { loop: { over: [0, 1], concurrency: 2, onItemFailure: 'continue' } },
        join: { joinMode: 'allSucceeded' },
        handled: completesAtOnce,
      },
      edges: ['start -> each', 'each/loop -> a -> join', 'each/loop -> b -> join', 'b/error -> handled'],
    }),
  );
  play.ends('a@each[0]');
  play.ends('a@each[1]');
  play.ends('b@each[0]', failed());
  play.ends('b@each[1]');
  expect(play.openIds()).toContain('join@each[1]');
  expect(play.openIds()).not.toContain('join@each[0]');
  play.ends('join@each[1]');
  expect(play.status).toBe('completed');
});
