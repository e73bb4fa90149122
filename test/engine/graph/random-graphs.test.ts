/**
 * Compares random graphs in random orders with an implementation of the rules that knows no order: it visits the nodes once, from
 * the roots down. So a node's end never depends on which node ended first.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { type EdgeState, decideJoin } from '../../../lib/engine/graph/edges.ts';
import type { Outcome } from '../../../lib/engine/graph/outcome.ts';
import type { PlanEdge, PlanNode } from '../../../lib/engine/graph/plan.ts';
import type { RunState } from '../../../lib/engine/log/fold.ts';
import { after, hours } from '../../../lib/engine/time.ts';
import {
  type Graph,
  type NodeTraits,
  awaits,
  ends,
  failed,
  finished,
  graph,
  ms,
  noRetry,
  completesAtOnce,
  sleepsUntil,
  threeAttempts,
} from '../graph-builder.ts';
import { dawn, foldOf, plain } from '../graph-run-fixture.ts';
import { type Script, violationsOf, runToCompletion } from '../run-to-completion.ts';

// Generous, because a busy machine must not fail a test that only counts.
vi.setConfig({ testTimeout: 120_000 });

const outcomes = {
  done: finished('done'),
  elsewhere: finished('done', 'x'),
  byError: finished('done', 'error'),
  nowhere: finished('done', null),
  broke: failed('error'),
  tooLong: failed('timeout'),
  forbidden: failed('forbidden'),
  sleeps: sleepsUntil(after(dawn, hours(1))),
  awaits: awaits(),
  // Whether the signal or the expiry comes first is random; both lead to the same handle.
  awaitsForAWhile: awaits({ expiresAt: after(dawn, hours(2)), expiryHandle: 'output' }),
  ends: ends({ done: true }),
  endsBadly: ends({}, 'error'),
} as const satisfies Record<string, Outcome>;
type Deed = keyof typeof outcomes;

interface Drawn {
  readonly graph: Graph;
  /** outcomes of the attempts of node n0, n1 …; the last one repeats */
  readonly outcomes: readonly (readonly Deed[])[];
}

const isDeed = (name: string): name is Deed => Object.hasOwn(outcomes, name);
const deed = fc.constantFrom('done', 'done', 'done', 'done', 'broke', 'broke', ...Object.keys(outcomes)).filter(isDeed);
const traits = fc.record({
  joinMode: fc.constantFrom('all' as const, 'all' as const, 'any' as const, 'allSucceeded' as const),
  onParentFailure: fc.constantFrom('skip' as const, 'skip' as const, 'propagate' as const, 'substitute_default' as const),
  retry: fc.constantFrom(noRetry, threeAttempts),
  isDisabled: fc.constantFrom(false, false, false, false, true),
  isPure: fc.constantFrom(false, false, true),
});

const drawn: fc.Arbitrary<Drawn> = fc.integer({ min: 1, max: 12 }).chain((size) =>
  fc
    .record({
      ways: fc.array(
        fc.tuple(
          fc.nat(size - 1),
          fc.nat(size - 1),
          fc.constantFrom('', '', '', '/error', '/x', '/success'),
          fc.constantFrom(undefined, undefined, undefined, { type: 'equals' as const, value: 'done' }),
        ),
        { maxLength: 24 },
      ),
      policies: fc.array(traits, { minLength: size, maxLength: size }),
      outcomes: fc.array(fc.array(deed, { minLength: 1, maxLength: 3 }), { minLength: size, maxLength: size }),
    })
    .map(({ ways, policies, outcomes: own }) => {
      const nodes = policies.map(({ isPure, ...policy }, index): [string, NodeTraits] => [
        `n${index}`,
        isPure ? { ...policy, pure: outcomes[own[index]?.[0] ?? 'done'] } : policy,
      ]);
      const edges = ways
        .filter(([from, to]) => from < to)
        .map(([from, to, handle, condition]) => ({
          from: `n${from}${handle} -> n${to}`,
          ...(condition === undefined ? {} : { condition }),
        }));
      return { graph: graph({ nodes: Object.fromEntries(nodes), edges }), outcomes: own };
    }),
);

const deedOf = ({ outcomes: own }: Drawn, id: string, attempt: number): Deed => {
  const attempts = own[Number(id.slice(1))] ?? [];
  return attempts[Math.min(attempt, attempts.length) - 1] ?? 'done';
};
const scriptOf =
  (all: Drawn): Script =>
  (id, attempt) =>
    outcomes[deedOf(all, id, attempt)];

/** The final outcome of a node that runs: the first that is not retried. */
const lastDeed = (all: Drawn, node: PlanNode): Deed => {
  if (node.policy.isDisabled) return 'done';
  const attempts = node.isPure ? 1 : node.policy.retry.attempts;
  let attempt = 1;
  while (attempt < attempts && ['broke', 'tooLong'].includes(deedOf(all, node.id, attempt))) attempt += 1;
  return deedOf(all, node.id, attempt);
};

type End = { readonly deed: Deed } | { readonly skipped: 'branch' | 'failure' } | { readonly upstream: true };

/** The end of each node by the rules of docs/decisions/edges-are-never-stored.md alone. */
const endsOf = (all: Drawn): ReadonlyMap<string, End> => {
  const found = new Map<string, End>();
  const { nodes } = all.graph.plan;
  /** nodes that failed, and nodes that a handled failure kept from running */
  const stopped = new Set<string>();
  const stateOf = (edge: PlanEdge): EdgeState => {
    const end = found.get(edge.source);
    if (end === undefined) return 'unresolved';
    if ('skipped' in end) return end.skipped === 'branch' ? 'dead' : 'upstream_failed';
    const how = 'deed' in end ? outcomes[end.deed] : failed();
    // Only one of the possible texts satisfies the conditions.
    const isCarried = how.kind === 'finished' && isDeepStrictEqual(how.output, { value: 'done' });
    const isMet = edge.condition === undefined || (isCarried && nodes.get(edge.source)?.policy.isDisabled === false);
    const handle = edge.sourceHandle === undefined || edge.sourceHandle === 'success' ? 'output' : edge.sourceHandle;
    if (how.kind === 'sleeping' || how.kind === 'awaiting') return handle === 'output' && isMet ? 'live' : 'dead';
    if (how.kind === 'finished') return handle === how.handle && isMet ? 'live' : 'dead';
    const isHandled = nodes.get(edge.source)?.outbound.some((other) => other.sourceHandle === 'error');
    return isHandled !== true ? 'source_failed' : handle === 'error' && isMet ? 'live' : 'dead';
  };
  for (const node of nodes.values()) {
    const states = node.inbound.map((edge): EdgeState => {
      const plain = stateOf(edge);
      const isStopped = node.policy.joinMode === 'allSucceeded' && stopped.has(edge.source);
      return isStopped && (plain === 'live' || plain === 'dead') ? 'failure_handled' : plain;
    });
    const answer = node.inbound.length === 0 ? 'fire' : decideJoin(new Set(states), node.policy);
    if (answer === 'wait') throw new Error(`${node.id} waits although all its parents have ended`);
    found.set(
      node.id,
      answer === 'fire'
        ? { deed: lastDeed(all, node) }
        : answer === 'upstream_failure'
          ? { upstream: true }
          : { skipped: answer === 'skip_branch' ? 'branch' : 'failure' },
    );
    const end = found.get(node.id);
    const isBroken = end !== undefined && ['failed', 'timed_out'].includes(statusOf(end));
    if (isBroken || (answer === 'skip_branch' && node.inbound.some(({ source }) => stopped.has(source)))) stopped.add(node.id);
  }
  return found;
};

const statusOf = (end: End): string => {
  if ('skipped' in end) return 'skipped';
  if ('upstream' in end || end.deed === 'broke' || end.deed === 'forbidden') return 'failed';
  return end.deed === 'tooLong' ? 'timed_out' : 'completed';
};

const isBad = (end: End | undefined): boolean =>
  end === undefined ||
  ['failed', 'timed_out'].includes(statusOf(end)) ||
  ('skipped' in end ? end.skipped === 'failure' : 'deed' in end && end.deed === 'endsBadly');

const runs = { numRuns: 600, seed: 20 };

test('every node ends by the rules, and so does the run, in every order', () => {
  fc.assert(
    fc.property(drawn, fc.integer(), (all, seed) => {
      const expected = endsOf(all);
      const play = runToCompletion(all.graph, seed, scriptOf(all));
      expect(violationsOf(play)).toEqual([]);
      expect(Object.fromEntries([...expected.keys()].map((id) => [id, play.statusOf(id)]))).toEqual(
        Object.fromEntries([...expected].map(([id, end]) => [id, statusOf(end)])),
      );
      expect(play.status).toBe(all.graph.plan.leaves.some((leaf) => isBad(expected.get(leaf.id))) ? 'failed' : 'completed');
    }),
    runs,
  );
});

test('a failed run names a node that failed by itself', () => {
  fc.assert(
    fc.property(drawn, fc.integer(), (all, seed) => {
      const play = runToCompletion(all.graph, seed, scriptOf(all));
      if (play.error === undefined || play.error.code === 'ended_in_error') return;
      const named = play.error.details?.['nodeId'];
      const end = typeof named === 'string' ? endsOf(all).get(named) : undefined;
      expect(end).toSatisfy((one: End | undefined) => one !== undefined && 'deed' in one && outcomes[one.deed].kind === 'failed');
    }),
    runs,
  );
});

test('the same log folds to the same state, at once and commit by commit', () => {
  fc.assert(
    fc.property(drawn, fc.integer(), (all, seed) => {
      const play = runToCompletion(all.graph, seed, scriptOf(all));
      const states: RunState[] = play.commits.map((_, index) => foldOf(play.commits.slice(0, index + 1)));
      expect(isDeepStrictEqual(plain(foldOf(play.commits)), plain(play.state))).toBe(true);
      expect(states.map(({ asOf }) => asOf)).toEqual(play.commits.map(({ number }) => number));
      // A log that was stored and read back is the same log.
      expect(plain(foldOf(JSON.parse(JSON.stringify(play.commits))))).toEqual(plain(play.state));
    }),
    { ...runs, numRuns: 200 },
  );
});

test('a cancel at any moment ends the run, and no earlier fact changes it afterwards', () => {
  fc.assert(
    fc.property(drawn, fc.integer(), fc.nat(30), (all, seed, moment) => {
      const { commits } = runToCompletion(all.graph, seed, scriptOf(all));
      const cancelAfter = 1 + (moment % commits.length);
      const play = runToCompletion(all.graph, seed, scriptOf(all), { cancelAfter });
      expect(violationsOf(play)).toEqual([]);
      const isTooLate = cancelAfter === commits.length;
      expect(play.status === 'cancelled').toBe(!isTooLate);
      expect(play.commits.slice(0, cancelAfter)).toEqual(commits.slice(0, cancelAfter));
      expect(play.commits).toHaveLength(isTooLate ? commits.length : cancelAfter + 1);
    }),
    { ...runs, numRuns: 300 },
  );
});

interface Looped {
  readonly graph: Graph;
  readonly outcomes: readonly (readonly Deed[])[];
}

/** A loop around two chains that meet, one with a nested loop; the outcomes differ between iterations. */
const looped: fc.Arbitrary<Looped> = fc
  .record({
    outer: fc.record({
      over: fc.constantFrom(
        [],
        [1],
        [1, 2, 3],
        Array.from({ length: 14 }, (_, at) => at),
      ),
      concurrency: fc.constantFrom(1, 2, 12),
      onItemFailure: fc.constantFrom('fail' as const, 'continue' as const),
      delayMs: fc.constantFrom(ms(0), ms(0), ms(5_000)),
    }),
    inner: fc.record({
      over: fc.constantFrom([], ['x'], ['x', 'y', 'z']),
      concurrency: fc.constantFrom(1, 3),
      onItemFailure: fc.constantFrom('fail' as const, 'continue' as const),
    }),
    policies: fc.array(traits, { minLength: 4, maxLength: 4 }),
    isDrawnBack: fc.boolean(),
    outcomes: fc.array(
      fc.array(
        deed.filter((name) => !name.startsWith('ends')),
        { minLength: 1, maxLength: 5 },
      ),
      { minLength: 4, maxLength: 4 },
    ),
  })
  .map(({ outer, inner, policies, isDrawnBack, outcomes: own }) => {
    const nodes = Object.fromEntries(
      policies.map(({ isPure: _isPure, ...policy }, at): [string, NodeTraits] => [`n${at}`, policy]),
    );
    const edges = [
      'start -> outer',
      'outer/loop -> n0 -> inner',
      'inner/loop -> n1',
      'inner/done -> n3',
      'outer/loop -> n2 -> n3',
      'n2/error -> n3',
      'outer/done -> after',
    ];
    return {
      graph: graph({
        nodes: { ...nodes, start: completesAtOnce, outer: { loop: outer, outputVariable: 'results' }, inner: { loop: inner } },
        edges: isDrawnBack ? [...edges, 'n3 -> outer', 'n1 -> inner'] : edges,
      }),
      outcomes: own,
    };
  });

const loopScript =
  ({ outcomes: own }: Looped): Script =>
  (id, attempt, iteration) => {
    const attempts = own[Number(id.slice(1))] ?? [];
    const offset = iteration.split(/\D+/).reduce((sum, index) => sum + Number(index), 0);
    return outcomes[attempts[(offset + attempt) % Math.max(1, attempts.length)] ?? 'done'];
  };

test('a loop processes its items in every order, and only its results remain', () => {
  fc.assert(
    fc.property(looped, fc.integer(), (all, seed) => {
      const play = runToCompletion(all.graph, seed, loopScript(all));
      expect(violationsOf(play)).toEqual([]);
      expect(play.state.iterations.size).toBe(0);
      expect([...play.state.nodes.entries()].every(([, { iteration }]) => iteration === '')).toBe(true);
      expect(isDeepStrictEqual(plain(foldOf(JSON.parse(JSON.stringify(play.commits)))), plain(play.state))).toBe(true);
      const outer = play.node('outer');
      if (outer?.status !== 'completed') {
        expect(outer?.status).toBe('failed');
        return;
      }
      const results = 'value' in outer.output ? outer.output.value : undefined;
      const items = outer.iterations?.items ?? 0;
      expect(results).toHaveLength(items);
      expect(
        play.eventsOf('ITERATION_ENDED').filter(({ nodeId, status }) => nodeId === 'outer' && status === 'failed'),
      ).toHaveLength(outer.iterations?.failed ?? 0);
      expect(play.eventsOf('ITERATION_STARTED').filter(({ nodeId }) => nodeId === 'outer')).toHaveLength(items);
    }),
    { ...runs, numRuns: 300 },
  );
});

test('at most as many iterations as the concurrency are open, and a cancel ends them all', () => {
  fc.assert(
    fc.property(looped, fc.integer(), fc.nat(40), (all, seed, moment) => {
      const { commits } = runToCompletion(all.graph, seed, loopScript(all));
      const play = runToCompletion(all.graph, seed, loopScript(all), { cancelAfter: 1 + (moment % commits.length) });
      expect(violationsOf(play)).toEqual([]);
      const most = play.eventsOf('LOOP_STARTED').find(({ nodeId }) => nodeId === 'outer')?.concurrency ?? 0;
      let open = 0;
      for (const event of commits.flatMap(({ events }) => events)) {
        if (event.type !== 'ITERATION_STARTED' && event.type !== 'ITERATION_ENDED') continue;
        if (event.nodeId !== 'outer') continue;
        open += event.type === 'ITERATION_STARTED' ? 1 : -1;
        expect(open).toBeLessThanOrEqual(most);
      }
    }),
    { ...runs, numRuns: 200 },
  );
});
