/** The shapes of the graph document's stress test: each ends in every order, and each join fires exactly once. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { after, hours, seconds } from '../../../lib/engine/time.ts';
import {
  type GraphSpec,
  type NodeTraits,
  ends,
  failed,
  finished,
  graph,
  names,
  completesAtOnce,
  sleepsUntil,
  threeAttempts,
} from '../graph-builder.ts';
import { plain, started } from '../graph-run-fixture.ts';
import { type Script, violationsOf, runToCompletion } from '../run-to-completion.ts';

// Generous, because a busy machine must not fail a test that only counts.
vi.setConfig({ testTimeout: 120_000 });

interface Topology extends GraphSpec {
  readonly script?: Script;
  /** nodes that must run exactly once in every order */
  readonly once: readonly string[];
  /** nodes that must be skipped in every order */
  readonly skipped?: readonly string[];
  readonly status?: 'failed';
  readonly numRuns?: number;
}

const end: NodeTraits = { pure: ends({ done: true }) };
const nap = (wait: Parameters<typeof after>[1]): NodeTraits => ({ pure: (_input, now) => sleepsUntil(after(now, wait)) });
const takes = (handle: string): NodeTraits => ({ pure: finished(null, handle) });
const failing =
  (...ids: readonly string[]): Script =>
  (id) =>
    ids.includes(id) ? failed() : finished(id);

const topologies: Readonly<Record<string, Topology>> = {
  linear: { nodes: { start: completesAtOnce, end }, edges: ['start -> a -> b -> c -> end'], once: ['a', 'b', 'c'] },
  'fan-out': { nodes: { start: completesAtOnce }, edges: names(12, 'c').map((id) => `start -> ${id}`), once: names(12, 'c') },
  'fan-in': {
    nodes: { start: completesAtOnce, end },
    edges: [...names(30, 'c').map((id) => `start -> ${id} -> join`), 'join -> end'],
    once: ['join'],
  },
  'diamond AND': {
    nodes: { start: completesAtOnce, end },
    edges: ['start -> a -> join -> end', 'start -> b -> join'],
    once: ['a', 'b', 'join'],
  },
  'diamond OR': {
    nodes: { start: completesAtOnce, join: { joinMode: 'any' }, end },
    edges: ['start -> a -> join -> end', 'start -> b -> join', 'start -> c -> d -> join'],
    once: ['a', 'b', 'c', 'd', 'join'],
  },
  // There is only one order; the seeds still vary starts, duplicates and inline nodes.
  'deep chain of 1,000': {
    nodes: { start: completesAtOnce, end },
    edges: [`start -> ${names(1_000, 'n').join(' -> ')} -> end`],
    once: ['n0', 'n999'],
    numRuns: 5,
  },
  'error path': {
    nodes: { start: completesAtOnce, end },
    edges: ['start -> a -> good -> join', 'a/error -> rescue -> join', 'start -> b -> join', 'join -> end'],
    script: failing('a'),
    once: ['b', 'rescue', 'join'],
    skipped: ['good'],
  },
  conditional: {
    nodes: { start: completesAtOnce, check: takes('b'), end },
    edges: ['start -> w -> check', 'check/a -> a -> join', 'check/b -> b -> join', 'check/c -> c -> join', 'join -> end'],
    once: ['b', 'join'],
    skipped: ['a', 'c'],
  },
  delay: {
    nodes: { start: completesAtOnce, short: nap(seconds(3)), long: nap(hours(3)), end },
    edges: ['start -> short -> a -> join', 'start -> long -> join', 'start -> b -> join', 'join -> end'],
    once: ['a', 'b', 'join'],
  },
  'multi-level join': {
    nodes: { start: completesAtOnce, end },
    edges: [
      ...names(4, 'a').flatMap((id, index) => [`start -> ${id} -> j${Math.floor(index / 2)}`, `${id} -> top`]),
      'j0 -> top',
      'j1 -> top',
      'top -> end',
    ],
    once: ['j0', 'j1', 'top'],
  },
  'joins of both kinds behind conditions, retries and sleeps': {
    nodes: {
      start: completesAtOnce,
      check: takes('go'),
      first: { joinMode: 'any' },
      flaky: { retry: threeAttempts },
      nap: nap(hours(1)),
      end,
    },
    edges: [
      'start -> check',
      'check/go -> flaky -> first -> all -> end',
      'check/go -> nap -> first',
      'check/stay -> x -> y -> first',
      'y -> all',
      'flaky -> all',
    ],
    script: (id, attempt) => (id === 'flaky' && attempt < 3 ? failed('timeout') : finished(id)),
    once: ['flaky', 'first', 'all'],
    skipped: ['x', 'y'],
  },
  'failure that spreads': {
    nodes: {
      start: completesAtOnce,
      propagating: { onParentFailure: 'propagate' },
      defaulted: { onParentFailure: 'substitute_default' },
    },
    edges: ['start -> a -> cut -> leaf', 'a -> propagating', 'a -> defaulted -> after', 'start -> b -> after'],
    script: failing('a'),
    once: ['a', 'b', 'defaulted', 'after'],
    skipped: ['cut', 'leaf'],
    status: 'failed',
  },
};

test('there are twelve shapes', () => {
  expect(Object.keys(topologies)).toHaveLength(12);
});

test.each(Object.entries(topologies))(
  '%s ends as specified in every order',
  (_name, { script, once, skipped = [], status, numRuns, ...drawing }) => {
    const shape = graph(drawing);
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const play = runToCompletion(shape, seed, script);
        expect(violationsOf(play)).toEqual([]);
        expect(play.status).toBe(status ?? 'completed');
        for (const id of once) expect(play.eventsOf('NODE_DISPATCHED').filter((event) => event.nodeId === id)).toHaveLength(1);
        for (const id of skipped) expect(play.statusOf(id)).toBe('skipped');
        expect(isDeepStrictEqual(plain(play.refold()), plain(play.state))).toBe(true);
      }),
      { numRuns: numRuns ?? 200, seed: 12 },
    );
  },
);

test('the same seed gives the same log', () => {
  const shape = graph(topologies['joins of both kinds behind conditions, retries and sleeps'] ?? {});
  expect(runToCompletion(shape, 5).commits).toEqual(runToCompletion(shape, 5).commits);
  expect(runToCompletion(shape, 5).commits).not.toEqual(runToCompletion(shape, 6).commits);
});

test('a chain of 2,000 pure nodes is decided in one commit', () => {
  const chain = names(2_000, 'p');
  const play = started(
    graph({ nodes: Object.fromEntries(chain.map((id) => [id, completesAtOnce])), edges: [chain.join(' -> ')] }),
  );
  expect([play.commits.length, play.status, play.eventsOf('NODE_COMPLETED').length]).toEqual([1, 'completed', 2_000]);
});

test('a chain of 2,000 nodes on a branch not taken is skipped in one commit', () => {
  const chain = names(2_000, 'p').join(' -> ');
  const play = started(graph({ nodes: { start: takes('elsewhere') }, edges: [`start -> ${chain}`] }));
  expect([play.commits.length, play.status, play.eventsOf('NODE_SKIPPED').length]).toEqual([1, 'completed', 2_000]);
});

test('a join of 1,000 branches fires once when all results come in commits of ten', () => {
  const branches = names(1_000, 'c');
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: branches.map((id) => `start -> ${id} -> join`) }));
  for (let at = 0; at < branches.length; at += 10) play.decide(...branches.slice(at, at + 10).map((id) => play.ended(id)));
  expect([play.commits.length, play.eventsOf('NODE_DISPATCHED').filter(({ nodeId }) => nodeId === 'join').length]).toEqual([
    101, 1,
  ]);
});
