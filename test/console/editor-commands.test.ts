/** The commands of the editor, undo and redo, and copied nodes. */
import { describe, expect, test } from 'vitest';
import { copied, pasted } from '../../lib/console/editor/clipboard.ts';
import * as commands from '../../lib/console/editor/commands.ts';
import { documentOf, emptyDefinition, nodeIn, selectedNode } from '../../lib/console/editor/document.ts';
import { edited, historyOf, redone, undone } from '../../lib/console/editor/history.ts';
import { NoDefinition, definitionJson, readDefinition } from '../../lib/console/editor/read-definition.ts';
import { workflowName } from '../../lib/engine/ids.ts';

const name = workflowName('order');
const empty = documentOf(emptyDefinition(name));
const order = documentOf(
  readDefinition(name, {
    nodes: [
      { id: 'start', type: 'start', position: { x: 0, y: 0 } },
      { id: 'price', type: 'javascript', config: { code: 'return 1', outputVariable: 'price' }, position: { x: 250, y: 0 } },
      {
        id: 'say',
        type: 'lens',
        config: { lens: 'greet', paramOverrides: { text: '[[price.total]]', note: 'not [[price]] here', kept: '{{ctx.price}}' } },
        position: { x: 500, y: 0 },
      },
    ],
    edges: [
      { source: 'start', target: 'price' },
      { source: 'price', target: 'say', targetParamLabel: 'text' },
    ],
  }),
);
const edgesOf = ({ definition }: typeof order) =>
  definition.edges.map(({ source, target, sourceHandle }) => [source, sourceHandle ?? 'output', target].join(' '));

describe('an edge that is moved', () => {
  const moved = (index: number, source: string, target: string, handle = 'output') =>
    commands.reconnect(order, index, { source, handle, target });

  test('leads to its new target, and keeps what it carries and its place in the list', () => {
    const next = commands.reconnect(commands.addNode(order, 'javascript'), 1, {
      source: 'price',
      handle: 'error',
      target: 'script',
    });
    expect(edgesOf(next)).toEqual(['start output price', 'price error script']);
    expect(next.definition.edges[1]).toMatchObject({ targetParamLabel: 'text' });
    expect(moved(1, 'price', 'say', 'error').definition.edges[1]?.sourceHandle).toBe('error');
    expect(edgesOf(moved(1, 'start', 'say'))).toEqual(['start output price', 'start output say']);
  });

  test('is one step of undo', () => {
    const history = edited(historyOf(order), moved(1, 'start', 'say'));
    expect(undone(history).present).toBe(order);
    expect(edgesOf(redone(undone(history)).present)).toContain('start output say');
  });

  test('stays where it is for a node that does not exist, its own source, or an edge that exists', () => {
    for (const [source, target] of [
      ['price', 'none'],
      ['none', 'say'],
      ['price', 'price'],
      ['price', 'say'],
    ] as const)
      expect(moved(1, source, target)).toBe(order);
    expect(moved(7, 'start', 'say')).toBe(order);
    const twice = commands.connect(order, 'start', 'output', 'say');
    expect(commands.reconnect(twice, 0, { source: 'start', handle: 'output', target: 'say' })).toBe(twice);
  });
});

describe('nodes', () => {
  test('a new node has a free id, writes its output under it, and is connected behind the chosen handle', () => {
    const once = commands.addNode(order, 'javascript', { source: 'price', handle: 'error' });
    const twice = commands.addNode(once, 'javascript');
    expect(twice.definition.nodes.slice(3).map(({ id, config }) => [id, config['outputVariable']])).toEqual([
      ['script', 'script'],
      ['script2', 'script2'],
    ]);
    expect(edgesOf(once)).toContain('price error script');
    expect(selectedNode(twice)?.id).toBe('script2');
  });

  test('a new node is drawn beside its parent, and never on another node', () => {
    const added = commands.addNode(order, 'end', { source: 'price', handle: 'output' });
    expect(nodeIn(added.definition, 'end')?.position).toEqual({ x: 500, y: commands.spacing.rowHeight });
    expect(nodeIn(commands.addNode(empty, 'start').definition, 'start')?.position).toBeUndefined();
  });

  test('a node is put into an edge, which keeps its value', () => {
    const put = commands.insertIntoEdge(order, 1, 'delay');
    expect(edgesOf(put)).toEqual(['start output price', 'price output delay', 'delay output say']);
    expect(put.definition.edges[1]?.targetParamLabel).toBe('text');
  });

  test('a removed node takes its edges and its pin along', () => {
    const pinned = commands.pinNode(commands.pinNode(order, 'price', { output: 1 }), 'say', { output: 2 });
    const removed = commands.removeSelection(commands.select(pinned, 'price'));
    expect(edgesOf(removed)).toEqual([]);
    expect(removed.pins).toEqual({ say: { output: 2 } });
    expect(commands.removeNodes(order, ['none'])).toBe(order);
  });

  test('a renamed node keeps its edges, its pin and exact references to it', () => {
    const renamed = commands.renameNode(
      commands.pinNode(commands.select(order, 'price'), 'price', { output: 1 }),
      'price',
      'total',
    );
    expect(renamed).toBeDefined();
    if (renamed === undefined) return;
    expect(edgesOf(renamed)).toEqual(['start output total', 'total output say']);
    expect(renamed.pins).toEqual({ total: { output: 1 } });
    expect(selectedNode(renamed)?.id).toBe('total');
    expect(nodeIn(renamed.definition, 'say')?.config['paramOverrides']).toEqual({
      text: '[[total.total]]',
      note: 'not [[price]] here',
      kept: '{{ctx.price}}',
    });
  });

  test.each(['start', 'two words', ''])('a node is not renamed to %j', (to) => {
    expect(commands.renameNode(order, 'price', to)).toBeUndefined();
  });

  test('a moved node is drawn where it was put, and arranging puts children to the right', () => {
    const moved = commands.moveNodes(order, new Map([['price', { x: 7.6, y: -3.2 }]]));
    expect(nodeIn(moved.definition, 'price')?.position).toEqual({ x: 8, y: -3 });
    const xs = commands.arrange(moved).definition.nodes.map(({ position }) => position?.x);
    expect(xs).toEqual([0, 250, 500]);
  });

  test('an empty label is no label', () => {
    const labelled = commands.setLabel(order, 'price', 'Price it');
    expect(nodeIn(labelled.definition, 'price')?.label).toBe('Price it');
    expect(nodeIn(commands.setLabel(labelled, 'price', '').definition, 'price')).not.toHaveProperty('label');
  });
});

describe('edges', () => {
  test('the main handle is not written, and the same edge exists once', () => {
    const connected = commands.connect(order, 'start', 'output', 'say');
    expect(connected.definition.edges.at(-1)).toEqual({ source: 'start', target: 'say' });
    expect(commands.connect(connected, 'start', 'output', 'say')).toBe(connected);
    expect(edgesOf(commands.connect(order, 'price', 'error', 'say'))).toContain('price error say');
  });

  test('a node is not connected to itself, nor to a node that does not exist', () => {
    expect(commands.connect(order, 'price', 'output', 'price')).toBe(order);
    expect(commands.connect(order, 'price', 'output', 'none')).toBe(order);
  });

  test('the selected edge is removed', () => {
    expect(edgesOf(commands.removeSelection(commands.selectEdge(order, 0)))).toEqual(['price output say']);
  });
});

describe('undo', () => {
  test('takes back edits in their order, and redo repeats them', () => {
    const first = edited(historyOf(order), commands.setLabel(order, 'price', 'A'));
    const second = edited(first, commands.removeNodes(first.present, ['say']));
    expect(undone(second).present).toBe(first.present);
    expect(undone(undone(second)).present).toBe(order);
    expect(redone(undone(second)).present).toBe(second.present);
    expect(undone(historyOf(order)).present).toBe(order);
  });

  test('takes back at once what was typed into one field without a pause', () => {
    const typed = ['A', 'AB', 'ABC'].reduce(
      (history, text, index) =>
        edited(history, commands.setLabel(history.present, 'price', text), { field: 'label', at: 1_000 + index * 200 }),
      historyOf(order),
    );
    expect(typed.past).toHaveLength(1);
    const later = edited(typed, commands.setLabel(typed.present, 'price', 'ABCD'), { field: 'label', at: 9_000 });
    expect(later.past).toHaveLength(2);
  });

  test('a change of the selection is no step, and keeps what can be redone', () => {
    const history = undone(edited(historyOf(order), commands.removeNodes(order, ['say'])));
    const selected = edited(history, commands.select(history.present, 'price'));
    expect(selected.past).toHaveLength(0);
    expect(selected.future).toHaveLength(1);
  });
});

describe('copied nodes', () => {
  test('are pasted under free ids, with the edges and references between them', () => {
    const text = copied(order.definition, ['price', 'say']);
    const twice = pasted(order, text);
    expect(twice.definition.nodes.map(({ id }) => id)).toEqual(['start', 'price', 'say', 'price2', 'say2']);
    expect(edgesOf(twice).slice(2)).toEqual(['price2 output say2']);
    expect(nodeIn(twice.definition, 'price2')?.config['outputVariable']).toBe('price2');
    expect(nodeIn(twice.definition, 'say2')?.config['paramOverrides']).toMatchObject({ text: '[[price2.total]]' });
    expect(twice.selection.nodes).toEqual(['price2', 'say2']);
    expect(nodeIn(twice.definition, 'price2')?.position).toEqual({ x: 290, y: 40 });
  });

  test('keep their ids where those are free', () => {
    expect(pasted(empty, copied(order.definition, ['price'])).definition.nodes.map(({ id }) => id)).toEqual(['price']);
  });

  test('other text is not pasted, and nodes that cannot be read are refused with their place', () => {
    expect(pasted(order, 'hello')).toBe(order);
    expect(pasted(order, '{"nodes": []}')).toBe(order);
    expect(() => pasted(order, '{"nodes": [{"id": "a b", "type": "end"}]}')).toThrow('/nodes/0/id');
  });
});

describe('a definition as JSON', () => {
  test('is read and written without loss', () => {
    const json = definitionJson(order.definition);
    expect(definitionJson(readDefinition(name, json))).toEqual(json);
  });

  test.each([
    [[], 'the definition must be an object'],
    [{ nodes: {} }, '/nodes must be an array'],
    [{ nodes: [{ id: 'a', type: 'end', colour: 'red' }] }, '/nodes/0/colour is unknown'],
    [{ nodes: [], edges: [{ source: 'a' }] }, '/edges/0/target must be the id of a node'],
    [{ nodes: [], edges: [{ source: 'a', target: 'b', condition: { type: 'equals' } }] }, '/edges/0/condition must have'],
    [{ nodes: [], edges: [{ source: 'a', target: 'b', mergeStrategy: 'sum' }] }, '/edges/0/mergeStrategy must be one of'],
    [{ nodes: [], options: { args: [{ name: 'a' }] } }, '/options/args must be an array of arguments'],
  ])('%j is refused', (json, message) => {
    expect(() => readDefinition(name, json)).toThrow(NoDefinition);
    expect(() => readDefinition(name, json)).toThrow(message);
  });
});
