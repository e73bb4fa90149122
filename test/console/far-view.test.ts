/** When a graph is drawn instead of being made of elements. */
import { expect, test } from 'vitest';
import { needsDrawing } from '../../lib/console/graph/far-view.ts';

const frame = { width: 1_000, height: 600 };
const grid = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ x: (index % 20) * 230, y: Math.floor(index / 20) * 84 }));

test.each([
  ['few nodes at any zoom', 30, { x: 0, y: 0, zoom: 0.1 }, false],
  ['some nodes at a readable zoom', 150, { x: 0, y: 0, zoom: 0.5 }, false],
  ['some nodes at a small zoom', 150, { x: 0, y: 0, zoom: 0.2 }, true],
  ['many nodes of which few are in view', 2_000, { x: 0, y: 0, zoom: 1 }, false],
  ['many nodes in view', 2_000, { x: 0, y: 0, zoom: 0.45 }, true],
  ['a view beside the graph', 2_000, { x: 90_000, y: 0, zoom: 0.2 }, false],
] as const)('%s', (_what, count, viewport, expected) => {
  expect(needsDrawing(grid(count), viewport, frame)).toBe(expected);
});

test('before the viewport is known, the whole graph counts as in view', () => {
  expect(needsDrawing(grid(150), undefined, undefined)).toBe(false);
  expect(needsDrawing(grid(151), undefined, undefined)).toBe(true);
});
