/** The layout of a graph, the parts of a definition that can be drawn, and the edges that a run took. */
import { describe, expect, test } from 'vitest';
import { definitionGraph } from '../../lib/console/layout/definition-graph.ts';
import { layered } from '../../lib/console/layout/layered.ts';
import { wasTaken } from '../../lib/console/run/edges-taken.ts';

const nodes = (...ids: readonly string[]) => ids.map((id) => ({ id }));
const edges = (...pairs: readonly string[]) => pairs.map((pair) => ({ source: pair[0] ?? '', target: pair[1] ?? '' }));

describe('the layout', () => {
  test('puts each node to the right of its parents', () => {
    const placed = layered(nodes('a', 'b', 'c', 'd'), edges('ab', 'bc', 'ac', 'cd'));
    const xs = ['a', 'b', 'c', 'd'].map((id) => placed.get(id)?.x ?? Number.NaN);
    expect(xs).toEqual(xs.toSorted((one, other) => one - other));
    expect(new Set(xs).size).toBe(4);
  });

  test('an edge over a layer keeps a row free there, and places nothing itself', () => {
    const placed = layered(nodes('a', 'b', 'c'), edges('ab', 'bc', 'ac'));
    expect([...placed.keys()].toSorted()).toEqual(['a', 'b', 'c']);
    expect(placed.get('b')?.y).not.toBe(placed.get('a')?.y);
  });

  test('places every node of a cycle too, and 2,000 nodes within a second', () => {
    expect(layered(nodes('a', 'b'), edges('ab', 'ba')).size).toBe(2);
    const many = Array.from({ length: 2_000 }, (_, at) => ({ id: `n${at}` }));
    const chained = many.slice(1).map(({ id }, at) => ({ source: `n${Math.floor(at / 2)}`, target: id }));
    const from = performance.now();
    expect(layered(many, chained).size).toBe(2_000);
    expect(performance.now() - from).toBeLessThan(1_000);
  });
});

test('nodes and edges that cannot be drawn are left out, and hostile names are kept as text', () => {
  const hostile = '<img src=x onerror=alert(1)>';
  expect(definitionGraph([{ id: hostile, type: 'http' }, { type: 'http' }], [{ source: 'a' }])).toEqual({
    nodes: [{ id: hostile, type: 'http', label: hostile }],
    edges: [],
  });
});

describe('an edge was taken', () => {
  test.each([
    ['completed', 'completed', undefined, true],
    ['completed', 'skipped', undefined, false],
    ['completed', undefined, undefined, false],
    ['failed', 'completed', 'error', true],
    ['completed', 'completed', 'error', false],
    ['failed', 'completed', undefined, false],
  ] as const)('from %s to %s by the handle %s: %s', (source, target, handle, expected) => {
    expect(wasTaken({ status: source }, target === undefined ? undefined : { status: target }, handle)).toBe(expected);
  });
});
