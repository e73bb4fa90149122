/** Checks the results of `exclusive.ts` against many random runs of many random graphs. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JoinPolicy, areExclusive, endsBefore } from '../../lib/engine/graph/check-variables.ts';
import { type EdgeState, decideJoin } from '../../lib/engine/graph/edges.ts';
import { type Shape, shapeOf } from '../../lib/engine/graph/shape.ts';
import { nodeId } from '../../lib/engine/ids.ts';

interface Graph {
  readonly shape: Shape;
  readonly policies: readonly JoinPolicy[];
}

const handles = ['output', 'x', 'y'];
const graph: fc.Arbitrary<Graph> = fc.integer({ min: 2, max: 9 }).chain((size) =>
  fc
    .record({
      ends: fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1), fc.constantFrom(...handles)), { maxLength: 16 }),
      policies: fc.array(
        fc.record({
          joinMode: fc.constantFrom('all' as const, 'all' as const, 'any' as const),
          onParentFailure: fc.constantFrom('skip' as const, 'skip' as const, 'propagate' as const, 'substitute_default' as const),
        }),
        { minLength: size, maxLength: size },
      ),
    })
    .map(({ ends, policies }) => ({
      policies,
      shape: shapeOf({
        nodes: Array.from({ length: size }, (_, index) => ({ id: nodeId(`n${index}`), type: 't', config: {} })),
        edges: ends
          .filter(([from, to]) => from < to)
          .map(([from, to, handle]) => ({ source: nodeId(`n${from}`), target: nodeId(`n${to}`), sourceHandle: handle })),
      }),
    })),
);

/** Runs the graph once with the engine's own join rule; `choose` decides which node ends next and how. */
const play = ({ shape, policies }: Graph, choose: (below: number) => number) => {
  const began = new Map<number, number>();
  const ended = new Map<number, { at: number; how: string }>();
  const isCutOff = new Set<number>();
  let moment = 0;
  const stateOf = (source: number, handle: string): EdgeState => {
    const end = ended.get(source);
    if (end === undefined) return 'unresolved';
    if (end.how === 'skipped') return isCutOff.has(source) ? 'upstream_failed' : 'dead';
    if (end.how === 'failed') return 'source_failed';
    return end.how === handle ? 'live' : 'dead';
  };
  const settle = (): void => {
    for (let isChanged = true; isChanged;) {
      isChanged = false;
      for (let node = 0; node < shape.size; node += 1) {
        const policy = policies[node];
        if (began.has(node) || ended.has(node) || policy === undefined) continue;
        const edges = (shape.inbound[node] ?? []).map(({ source, handle }) => stateOf(source, handle));
        const result = edges.length === 0 ? 'fire' : decideJoin(new Set(edges), policy);
        if (result === 'wait') continue;
        isChanged = true;
        if (result === 'fire') began.set(node, (moment += 1));
        else if (result === 'upstream_failure')
          ended.set(node, { at: (moment += 1), how: ['failed', ...handles][choose(4)] ?? 'failed' });
        else {
          if (result === 'skip_parent') isCutOff.add(node);
          ended.set(node, { at: (moment += 1), how: 'skipped' });
        }
      }
    }
  };
  settle();
  for (;;) {
    const running = [...began.keys()].filter((node) => !ended.has(node));
    const node = running[choose(running.length)];
    if (node === undefined) return { began, ended };
    ended.set(node, { at: (moment += 1), how: ['failed', ...handles][choose(4)] ?? 'failed' });
    settle();
  }
};

test('exclusive nodes never both run, and a node that ends before another has always ended when the other begins', () => {
  let exclusivePairs = 0;
  let orderedPairs = 0;
  fc.assert(
    fc.property(
      graph,
      fc.array(fc.array(fc.nat(1_000), { minLength: 40, maxLength: 40 }), { minLength: 10, maxLength: 10 }),
      (made, games) => {
        const isExclusive = areExclusive(made.shape, made.policies);
        const isBefore = endsBefore(made.shape, made.policies);
        const pairs = made.shape.order.flatMap((one) =>
          made.shape.order.filter((two) => two !== one).map((two) => [one, two] as const),
        );
        exclusivePairs += pairs.filter(([one, two]) => isExclusive(one, two)).length;
        orderedPairs += pairs.filter(([one, two]) => isBefore(one, two)).length;
        for (const numbers of games) {
          let next = 0;
          const { began, ended } = play(made, (below) => (below === 0 ? -1 : (numbers[next++ % numbers.length] ?? 0) % below));
          for (const [one, two] of pairs) {
            if (isExclusive(one, two)) expect(began.has(one) && began.has(two)).toBe(false);
            const start = began.get(two);
            if (isBefore(one, two) && start !== undefined) expect(ended.get(one)?.at ?? Infinity).toBeLessThan(start);
          }
        }
      },
    ),
    // Seeded, because the counts below must not depend on chance.
    { numRuns: 400, seed: 15 },
  );
  // A result that never occurs would make the check trivial.
  expect(exclusivePairs).toBeGreaterThan(50);
  expect(orderedPairs).toBeGreaterThan(500);
});
