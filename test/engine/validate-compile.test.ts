import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type NodeExecutionTraits, compile } from '../../lib/engine/graph/compile.ts';
import type { WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';
import { durationMs } from '../../lib/engine/time.ts';

const terms: NodeExecutionTraits = {
  policy: {
    joinMode: 'all',
    errorHandling: 'continue',
    onParentFailure: 'skip',
    merge: 'last_write_wins',
    retry: { attempts: 1, backoffMs: durationMs(0), maxBackoffMs: durationMs(0), retryOn: [], jitter: 'none' },
    timeoutMs: durationMs(1_000),
    isDisabled: false,
  },
  isPure: false,
  recordsStart: false,
};

const version: fc.Arbitrary<WorkflowVersion> = fc.integer({ min: 1, max: 12 }).chain((size) =>
  fc
    .record({
      ends: fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 30 }),
      names: fc.shuffledSubarray(
        Array.from({ length: size }, (_, index) => `n${index}`),
        { minLength: size, maxLength: size },
      ),
    })
    .map(({ ends, names }) => ({
      name: workflowName('w'),
      version: 3,
      options: {},
      nodes: names.map((name) => ({ id: nodeId(name), type: 't', config: {} })),
      edges: ends
        .filter(([from, to]) => from < to)
        .map(([from, to], index) => ({ id: `e${index}`, source: nodeId(`n${from}`), target: nodeId(`n${to}`) })),
    })),
);

test('a plan has every node, and every edge on both its ends, in the order of the definition', () => {
  fc.assert(
    fc.property(version, (definition) => {
      const plan = compile(definition, () => terms);
      expect([...plan.nodes.keys()]).toEqual(definition.nodes.map(({ id }) => id));
      for (const node of plan.nodes.values()) {
        const withoutId = definition.edges.map(({ id: _id, ...edge }) => edge);
        expect(node.outbound).toEqual(withoutId.filter(({ source }) => source === node.id));
        expect(node.inbound).toEqual(withoutId.filter(({ target }) => target === node.id));
      }
      expect(plan.roots.map(({ id }) => id)).toEqual(
        [...plan.nodes.values()].filter((node) => node.inbound.length === 0).map(({ id }) => id),
      );
      expect(plan.leaves.every((node) => node.outbound.length === 0)).toBe(true);
    }),
  );
});

test('a wave is the longest distance from a root', () => {
  fc.assert(
    fc.property(version, (definition) => {
      const plan = compile(definition, () => terms);
      for (const node of plan.nodes.values()) {
        const parents = node.inbound.map(({ source }) => plan.nodes.get(source)?.wave ?? Infinity);
        expect(node.wave).toBe(parents.length === 0 ? 0 : Math.max(...parents) + 1);
      }
    }),
  );
});

test('the same definition gives the same plan', () => {
  fc.assert(
    fc.property(version, (definition) => {
      expect(compile(definition, () => terms)).toEqual(compile(structuredClone(definition), () => terms));
    }),
  );
});

test('a cycle cannot be compiled', () => {
  const nodes = ['a', 'b'].map((id) => ({ id: nodeId(id), type: 't', config: {} }));
  const edges = [
    { source: nodeId('a'), target: nodeId('b') },
    { source: nodeId('b'), target: nodeId('a') },
  ];
  expect(() => compile({ name: workflowName('w'), version: 1, nodes, edges, options: {} }, () => terms)).toThrow('cycle');
});
