/** Conditions on edges are evaluated on the carried value; an edge with an unmet condition is dead. */
import fc from 'fast-check';
import { describe, expect, it, test, vi } from 'vitest';
import type { EdgeCondition } from '../../../lib/engine/graph/definition.ts';
import { edgeValue, isMet } from '../../../lib/engine/graph/edges.ts';
import { DecisionWork, workLimits } from '../../../lib/engine/graph/work-limits.ts';
import type { JsonValue } from '../../../lib/engine/json.ts';
import { ends, failed, finished, graph, completesAtOnce } from '../graph-builder.ts';
import { runToCompletion } from '../run-to-completion.ts';

const json: fc.Arbitrary<JsonValue> = fc.json().map((text) => JSON.parse(text));

test.each<[EdgeCondition, JsonValue, boolean]>([
  [{ type: 'equals', value: { a: 1, b: [2] } }, { b: [2], a: 1 }, true],
  [{ type: 'equals', value: 1 }, '1', false],
  [{ type: 'equals', value: [1] }, [1, 1], false],
  [{ type: 'equals', value: {} }, [], false],
  [{ type: 'equals', value: { toString: null } }, {}, false],
  [{ type: 'equals', value: null }, null, true],
  [{ type: 'contains', value: 'bc' }, 'abcd', true],
  [{ type: 'contains', value: '' }, '', true],
  [{ type: 'contains', value: 1 }, '1', false],
  [{ type: 'contains', value: { x: 1 } }, [0, { x: 1 }], true],
  [{ type: 'contains', value: 'x' }, { x: null }, true],
  [{ type: 'contains', value: 'toString' }, {}, false],
  [{ type: 'contains', value: 'x' }, null, false],
  [{ type: 'present' }, null, false],
  [{ type: 'present' }, '', true],
  [{ type: 'present' }, false, true],
  [{ type: 'truthy' }, 0, false],
  [{ type: 'truthy' }, '', false],
  [{ type: 'truthy' }, false, false],
  [{ type: 'truthy' }, null, false],
  [{ type: 'truthy' }, [], true],
  [{ type: 'truthy' }, 'false', true],
])('%j of %j is %s', (condition, value, met) => {
  expect(isMet(condition, value)).toBe(met);
});

describe('for any value', () => {
  it('equals itself, read back from its text with another order of keys', () => {
    const reversed = (value: JsonValue): JsonValue =>
      Array.isArray(value)
        ? value.map(reversed)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .toReversed()
                .map(([key, part]) => [key, reversed(part)]),
            )
          : value;
    fc.assert(fc.property(json, (value) => isMet({ type: 'equals', value: reversed(value) }, value)));
  });

  it('equality is symmetric, and only holds for values with the same text', () => {
    fc.assert(
      fc.property(json, json, (one, other) => {
        const there = isMet({ type: 'equals', value: one }, other);
        expect(isMet({ type: 'equals', value: other }, one)).toBe(there);
        const letters = (value: JsonValue): string => JSON.stringify(value).split('').toSorted().join('');
        if (there) expect(letters(one)).toBe(letters(other));
      }),
    );
  });

  it('a truthy value is present, and an array contains each of its items', () => {
    fc.assert(fc.property(json, (value) => !isMet({ type: 'truthy' }, value) || isMet({ type: 'present' }, value)));
    fc.assert(
      fc.property(fc.array(json, { minLength: 1 }), (list) =>
        list.every((item) => isMet({ type: 'contains', value: item }, list)),
      ),
    );
  });
});

test('the value is what the edge carries', () => {
  expect(edgeValue({ sourceOutputKey: 'a.b' }, { a: { b: 2 } })).toBe(2);
  expect(edgeValue({ sourceOutputKey: 'a.c' }, { a: { b: 2 } })).toBeNull();
  expect(edgeValue({}, { a: 1 })).toEqual({ a: 1 });
  const rows = { rows: [{ id: 'first' }, { id: 'second' }] };
  expect(edgeValue({ sourceOutputKey: 'rows.1.id' }, rows)).toBe('second');
  expect(
    ['rows.2', 'rows.length', 'rows.-1', 'rows.1.5', 'rows.'].map((key) => edgeValue({ sourceOutputKey: key }, rows)),
  ).toEqual(Array.from({ length: 5 }, () => null));
});

const statuses = (drawing: Parameters<typeof graph>[0], output: JsonValue): Record<string, string> => {
  const { state } = runToCompletion(graph(drawing), 1, (id) => (id === 'a' ? finished(output) : finished(id)));
  return Object.fromEntries(
    [...state.nodes.entries()].map(([id, node]) => [id, node.status === 'skipped' ? `skipped ${node.reason}` : node.status]),
  );
};
const when = (from: string, condition: EdgeCondition, more: object = {}) => ({ from, condition, ...more });

describe('in a run', () => {
  const tier = { sourceOutputKey: 'tier' };
  const drawing = {
    edges: [
      when('a -> gold', { type: 'equals', value: 'gold' }, tier),
      when('a -> other', { type: 'equals', value: 'plain' }, tier),
      'gold -> join',
      'other -> join',
    ],
  };

  it('an edge with an unmet condition is a branch not taken, and a later join does not wait for it', () => {
    const way = { a: 'completed', gold: 'completed', other: 'skipped branch_not_taken', join: 'completed' };
    expect(statuses(drawing, { tier: 'gold' })).toEqual(way);
    expect(statuses(drawing, { tier: 'none' })).toEqual({
      a: 'completed',
      gold: 'skipped branch_not_taken',
      other: 'skipped branch_not_taken',
      join: 'skipped branch_not_taken',
    });
  });

  it('a dead edge brings no value, and a live one beside it is enough', () => {
    const edges = [
      when('a -> b', { type: 'present' }, { sourceOutputKey: 'none', targetParamLabel: 'x', mergeStrategy: 'array' as const }),
      when('a -> b', { type: 'truthy' }, { sourceOutputKey: 'some', targetParamLabel: 'x', mergeStrategy: 'array' as const }),
      'b -> c',
    ];
    const nodes = {
      b: { pure: ({ inputs }: { inputs: { readonly [key: string]: JsonValue } }) => finished(inputs['x'] ?? null) },
    };
    const { state } = runToCompletion(graph({ nodes, edges }), 1, (id) => (id === 'a' ? finished({ some: 1 }) : finished(id)));
    const found = [...state.nodes.entries()].flatMap(([id, node]) =>
      id === 'b' && node.status === 'completed' ? [node.output] : [],
    );
    expect(found).toEqual([{ value: [1] }]);
  });

  it('a condition does not revive an edge of another handle, and none is met on an error edge', () => {
    const edges = [when('a/error -> b', { type: 'present' }), when('a/x -> c', { type: 'present' }), 'a -> d'];
    expect(statuses({ edges }, 1)).toMatchObject({
      b: 'skipped branch_not_taken',
      c: 'skipped branch_not_taken',
      d: 'completed',
    });
    const { state } = runToCompletion(graph({ edges }), 1, (id) => (id === 'a' ? failed() : finished(id)));
    expect([...state.nodes.entries()].map(([, { status }]) => status)).toEqual(['failed', 'skipped', 'skipped', 'skipped']);
  });

  it('a pure node is evaluated in the commit that decides it', () => {
    const nodes = { a: { pure: finished(0) }, e: { pure: ends() } };
    expect(statuses({ nodes, edges: [when('a -> b', { type: 'truthy' }), 'b -> e'] }, 0)).toEqual({
      a: 'completed',
      b: 'skipped branch_not_taken',
      e: 'skipped branch_not_taken',
    });
  });
});

describe('the work of conditions', () => {
  const ids = Array.from({ length: 100 }, (_, at) => `p${at}`);
  const unmet = { condition: { type: 'equals' as const, value: 1 } };
  const comparisons = (joinMode: 'all' | 'any', isPure: boolean): number => {
    const looking = vi.spyOn(DecisionWork.prototype, 'addComparisons');
    const nodes = {
      start: completesAtOnce,
      ...(isPure ? Object.fromEntries(ids.map((id) => [id, { pure: finished(0) }])) : {}),
      join: { joinMode },
    };
    const edges = ids.flatMap((id) => [
      `start -> ${id}`,
      { from: `${id} -> join`, ...unmet },
      { from: `${id} -> join`, ...unmet },
    ]);
    const play = runToCompletion(graph({ nodes, edges }), 1, () => finished(0));
    expect(play.statusOf('join')).toBe('skipped');
    // The fixture makes each decision twice.
    const calls = looking.mock.calls.length / 2;
    looking.mockRestore();
    return calls;
  };

  it('counts once per edge, however many edges lead to one node', () => {
    expect(comparisons('any', true)).toBe(200);
    expect(comparisons('all', true)).toBe(200);
    // A join of all evaluates its edges in the decision in which its last parent ends.
    expect(comparisons('all', false)).toBe(200);
  });

  it('has a limit per decision: beyond it the targets fail, and the run continues without them', () => {
    const text = 'x'.repeat(8_000_000);
    const nodes = { a: { pure: finished(text) }, e: { joinMode: 'any' as const } };
    const targets = Array.from({ length: 12 }, (_, at) => `t${at}`);
    const edges = [
      ...targets.map((id) => when(`a -> ${id}`, { type: 'contains', value: 'y' })),
      'a -> e',
      ...targets.map((id) => `${id}/error -> e`),
    ];
    const { state } = runToCompletion(graph({ nodes, edges }), 1, (id) => finished(id));
    const failures = [...state.nodes.entries()].flatMap(([id, node]) =>
      node.status === 'failed' ? [[id, node.failure.cause, node.failure.code]] : [],
    );
    const within = Math.floor((workLimits.decision.edges * 4) / (text.length + 1));
    expect(failures).toEqual(targets.slice(within).map((id) => [id, 'invalid', 'comparison_too_costly']));
  });

  it('defers later pure nodes without failing them', () => {
    const text = 'x'.repeat(workLimits.decision.matching * 4);
    const nodes = { a: { pure: finished(text) }, b: { pure: finished(1) }, c: { pure: finished(2) } };
    const edges = [when('a -> b', { type: 'contains', value: 'x' }), 'b -> c'];
    const play = runToCompletion(graph({ nodes, edges }), 1, (id) => finished(id));
    expect(play.commits[0]?.events.filter(({ type }) => type === 'NODE_DISPATCHED')).toMatchObject([
      { nodeId: 'b', isPure: true },
    ]);
  });
});
