/** The pictures of workflows: what they show of a definition. */
import { expect, test } from 'vitest';
import { drawWorkflow } from '../../scripts/pictures/draw.ts';
import { pictureGraph } from '../../scripts/pictures/graph.ts';

const definition = {
  name: 'orders',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'each', type: 'loop', label: 'each <order>' },
    { id: 'price', type: 'javascript' },
    { id: 'note', type: 'http' },
    {
      id: 'big',
      type: 'condition',
      config: {
        branches: [{ id: 'yes', conditions: [{ leftValue: '{{ctx.total}}', operator: 'greater_than', rightValue: 100 }] }],
      },
    },
    { id: 'end', type: 'end' },
    { id: 'failed', type: 'end', config: { status: 'error' } },
  ],
  edges: [
    { source: 'start', target: 'each' },
    { source: 'each', target: 'price', sourceHandle: 'loop' },
    { source: 'price', target: 'note' },
    { source: 'note', target: 'each' },
    { source: 'each', target: 'big', sourceHandle: 'done' },
    { source: 'each', target: 'failed', sourceHandle: 'error' },
    { source: 'big', target: 'end', sourceHandle: 'yes' },
    { source: 'big', target: 'end', sourceOutputKey: 'a', targetParamLabel: 'x', condition: { type: 'equals', value: 1 } },
  ],
};

test('the same definition gives the same picture', () => {
  expect(drawWorkflow(definition)).toBe(drawWorkflow(structuredClone(definition)));
});

test('the body of a loop ends where it leads back to the loop', () => {
  const loops = Object.fromEntries(pictureGraph(definition).nodes.map(({ id, loop }) => [id, loop]));
  expect(loops).toEqual({
    start: undefined,
    each: undefined,
    price: 'each',
    note: 'each',
    big: undefined,
    end: undefined,
    failed: undefined,
  });
});

test('edges have the branch, its conditions, and the values that they pass', () => {
  const lines = pictureGraph(definition).edges.map(({ source, target, lines: text }) => [source, target, ...text]);
  expect(lines).toContainEqual(['big', 'end', 'yes', 'total > 100']);
  expect(lines).toContainEqual(['big', 'end', 'a → x', 'if equals 1']);
  expect(lines).toContainEqual(['each', 'price', 'each item']);
});

test('error edges are dashed and have an open arrow', () => {
  const picture = drawWorkflow(definition);
  expect(picture.match(/class="edge error"[^>]*url\(#open\)/g)).toHaveLength(1);
  expect(picture).toContain('.edge.error { stroke: var(--error); stroke-dasharray');
});

test('text of the definition is escaped', () => {
  expect(drawWorkflow(definition)).toContain('>each &lt;order&gt;<');
});

test('no node covers another one', () => {
  const boxes = [...drawWorkflow(definition).matchAll(/class="node">.*?class="label" x="([\d.]+)" y="([\d.]+)"/g)].map(
    ([, x, y]) => ({
      x: Number(x),
      y: Number(y),
    }),
  );
  expect(boxes).toHaveLength(7);
  for (const [index, one] of boxes.entries())
    for (const other of boxes.slice(index + 1))
      expect(Math.abs(one.x - other.x) > 60 || Math.abs(one.y - other.y) > 48).toBe(true);
});
