/** How ready nodes are dispatched: one inline, a few through the queue, many with collected results. */
import { expect, test } from 'vitest';
import { maxDirectSiblings } from '../../../lib/engine/graph/dispatch.ts';
import { decide } from '../../../lib/engine/graph/decide.ts';
import type { Via } from '../../../lib/engine/log/events.ts';
import { after, hours } from '../../../lib/engine/time.ts';
import {
  type GraphSpec,
  failed,
  finished,
  graph,
  ms,
  names,
  completesAtOnce,
  sleepsUntil,
  threeAttempts,
} from '../graph-builder.ts';
import { GraphRunFixture, type Settings, dawn, started, describeEvents } from '../graph-run-fixture.ts';

const fan = (width: number): GraphSpec => ({
  nodes: { start: completesAtOnce },
  edges: names(width, 'c').map((id) => `start -> a -> ${id} -> join`),
});

const vias = (play: GraphRunFixture, prefix: string): readonly Via[] =>
  play.eventsOf('NODE_DISPATCHED').flatMap((event) => (event.nodeId.startsWith(prefix) ? [event.via] : []));

/** How the siblings of a fan-out behind `a` are dispatched. */
const dispatched = (width: number, settings: Settings = {}): readonly Via[] => {
  const unique: GraphSpec = {
    ...fan(width),
    edges: ['start -> a', ...names(width, 'c').flatMap((id) => [`a -> ${id} -> join`])],
  };
  const play = started(graph(unique), settings);
  play.ends('a');
  return vias(play, 'c');
};

test('at most eight siblings commit their own results', () => {
  expect(maxDirectSiblings).toBe(8);
  expect(new Set(dispatched(8))).toEqual(new Set(['queue']));
  expect(new Set(dispatched(9))).toEqual(new Set(['collect']));
  expect(dispatched(1_000)).toEqual(Array(1_000).fill('collect'));
});

test('a wide fan-out runs none inline, because its result would contend with the others', () => {
  expect(dispatched(9, { runsOneInline: true })).toEqual(Array(9).fill('collect'));
});

test('a worker that may continue runs the first ready node inline, and starts it', () => {
  expect(dispatched(3, { runsOneInline: true })).toEqual(['inline', 'queue', 'queue']);
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b'] }), { runsOneInline: false });
  expect(play.statusOf('a')).toBe('queued');
  const going = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b'] }), { runsOneInline: true });
  expect(describeEvents(going.ends('a'))).toEqual(['NODE_COMPLETED a', 'NODE_DISPATCHED b', 'NODE_STARTED b']);
});

test('a start whose caller runs a root inline is running in its first commit', () => {
  const waits = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a'] }), { runsOneInline: true });
  expect(waits.state.progress.status).toBe('running');
  expect(waits.statusOf('a')).toBe('running');
  const plain = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a'] }), { runsOneInline: false });
  expect(plain.state.progress.status).toBe('pending');
});

test('a decider that cannot continue runs no node inline', () => {
  expect(dispatched(1, { runsOneInline: false })).toEqual(['queue']);
});

test('several facts in one commit leave at most one node inline', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce },
      edges: ['start -> a -> x', 'start -> b -> y'],
    }),
    { runsOneInline: true },
  );
  play.decide(play.ended('a'), play.ended('b'));
  expect([vias(play, 'x'), vias(play, 'y')]).toEqual([['inline'], ['queue']]);
});

test('a retry that stays with its worker is the one inline node', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, a: { retry: { ...threeAttempts, backoffMs: ms(10) } } },
      edges: ['start -> a', 'start -> b -> y'],
    }),
    { runsOneInline: true },
  );
  play.decide(play.ended('a', failed()), play.ended('b'));
  expect([play.eventsOf('NODE_RETRIED')[0]?.via, vias(play, 'y')]).toEqual(['inline', ['queue']]);
  const other = started(play.graph, { runsOneInline: true });
  other.decide(other.ended('b'), other.ended('a', failed()));
  expect([other.eventsOf('NODE_RETRIED')[0]?.via, vias(other, 'y')]).toEqual(['queue', ['inline']]);
});

test('working nodes count as siblings, and sleeping ones do not', () => {
  const wide = (sleepers: number): GraphRunFixture => {
    const naps = names(sleepers, 'nap');
    const busy = names(8 - sleepers, 'busy');
    const pure = sleepsUntil(after(dawn, hours(1)));
    const play = started(
      graph({
        nodes: { start: completesAtOnce, ...Object.fromEntries(naps.map((id) => [id, { pure }])) },
        edges: [...naps, ...busy].flatMap((id) => [`start -> ${id}`]).concat('busy0 -> x', 'busy0 -> y'),
      }),
    );
    play.ends('busy0');
    return play;
  };
  expect(vias(wide(0), 'x')).toEqual(['collect']);
  expect(vias(wide(1), 'x')).toEqual(['queue']);
});

test('all nodes that become ready in one commit count as siblings', () => {
  const twice = graph({
    nodes: { start: completesAtOnce },
    edges: ['start -> a', 'start -> b', ...names(5, 'x').map((id) => `a -> ${id}`), ...names(5, 'y').map((id) => `b -> ${id}`)],
  });
  const play = started(twice);
  play.decide(play.ended('a'), play.ended('b'));
  expect(vias(play, 'y')).toEqual(Array(5).fill('collect'));
});

test('pure nodes are decided in their parent’s commit, and their successors are dispatched in it', () => {
  const play = started(
    graph({ nodes: { start: completesAtOnce, p: completesAtOnce, q: completesAtOnce }, edges: ['start -> a -> p -> q -> b'] }),
  );
  expect(describeEvents(play.ends('a'))).toEqual([
    'RUN_STATUS_CHANGED',
    'NODE_COMPLETED a',
    'NODE_COMPLETED p',
    'NODE_COMPLETED q',
    'NODE_DISPATCHED b',
  ]);
});

test('a pure node sees what the same commit has already decided', () => {
  const play = started(
    graph({
      nodes: {
        start: completesAtOnce,
        a: { outputVariable: 'count' },
        p: { pure: ({ context }) => finished([context.get('count') ?? null, 'seen']), outputVariable: 'twice' },
        q: { pure: ({ context }) => finished(null, context.get('twice') === undefined ? 'no' : 'yes') },
      },
      edges: ['start -> a -> p -> q', 'q/yes -> y', 'q/no -> n'],
    }),
  );
  play.ends('a', finished(7));
  expect(play.statuses('y', 'n')).toEqual(['queued', 'skipped']);
  expect(play.inputOf('y').context.get('twice')).toEqual([7, 'seen']);
});

test('a dispatch has the node’s longest distance from a root', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b -> c', 'start -> c'] }));
  for (const id of ['a', 'b', 'c']) play.ends(id);
  expect(play.eventsOf('NODE_DISPATCHED').map(({ nodeId, wave }) => [nodeId, wave])).toEqual([
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ]);
});

test('a graph with several roots begins with all of them', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> join', 'a -> join', 'b -> join'] }));
  expect(play.statuses('start', 'a', 'b', 'join')).toEqual(['completed', 'queued', 'queued', 'pending']);
});

test('a run with a later start dispatches its roots now with that start time, and decides nothing else', () => {
  const play = new GraphRunFixture(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a'] }));
  const startAt = after(dawn, hours(5));
  expect(describeEvents(play.start({ n: 1 }, startAt))).toEqual(['INPUT_SET', 'RUN_STARTED', 'NODE_DISPATCHED start']);
  expect(play.node('start')).toMatchObject({ status: 'queued', notBefore: startAt, attempt: 1 });
  play.advanceTime(hours(5));
  play.ends('start');
  expect(play.statusOf('a')).toBe('queued');
});

test('a run with a later start and many roots collects their results', () => {
  const play = new GraphRunFixture(graph({ nodes: Object.fromEntries(names(9, 'r').map((id) => [id, {}])) }));
  play.start({}, after(dawn, hours(5)));
  expect(vias(play, 'r')).toEqual(Array(9).fill('collect'));
});

test('system values of the start are in the context beside the input', () => {
  const play = started(graph({ edges: ['a -> b'] }), {}, { n: 1 });
  expect(describeEvents(play.events)).toEqual(['INPUT_SET', 'RUN_STARTED', 'NODE_DISPATCHED a']);
  expect(play.inputOf('a').context.all()).toEqual({ input: { n: 1 } });
});

test('a node that the pinned version lacks is a broken log, not an outcome', () => {
  const play = started(graph({ edges: ['a -> b'] }));
  const strange = { ...play.tools, plan: { ...play.tools.plan, nodes: new Map() } };
  expect(() => decide(play.state, [play.ended('a')], strange)).toThrow('which the pinned version does not have');
});
