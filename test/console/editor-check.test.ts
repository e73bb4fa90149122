/** Findings at their nodes and fields, the handles and names that the editor offers, and the merge of two changed definitions. */
import { describe, expect, test } from 'vitest';
import { contextNamesFor, handlesOf } from '../../lib/console/editor/catalogue.ts';
import { check } from '../../lib/console/editor/check.ts';
import { findingsAt } from '../../lib/console/editor/findings.ts';
import { nodeTemplates } from '../../lib/console/editor/node-templates.ts';
import { readDefinition } from '../../lib/console/editor/read-definition.ts';
import { merged, mergeParts } from '../../lib/console/editor/three-way.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { workflowName } from '../../lib/engine/ids.ts';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { nodeTypes } from '../../lib/nodes/node-types.ts';

const read = (nodes: JsonValue, edges: JsonValue = [], options: JsonValue = {}) =>
  readDefinition(workflowName('order'), { nodes, edges, options });

describe('findings', () => {
  test('are at the node and the field that they are about', () => {
    const found = check(
      read(
        [
          { id: 'start', type: 'start' },
          { id: 'call', type: 'http', config: { url: 'nowhere' } },
        ],
        [{ source: 'start', target: 'call' }],
      ),
    );
    expect(found.map(({ nodeId, field, code }) => [nodeId, field.join('/'), code])).toEqual([
      ['call', 'config/url', 'config_invalid'],
    ]);
    expect(findingsAt(found, ['config', 'url'])).toHaveLength(1);
    expect(findingsAt(found, ['config'])).toHaveLength(0);
    expect(findingsAt(found, ['config'], true)).toHaveLength(1);
  });

  test('are at an edge, and at an option', () => {
    const found = check(read([{ id: 'start', type: 'start' }], [{ source: 'start', target: 'none' }], { maxConcurrentRuns: 0 }));
    expect(found.map(({ edge, field, code }) => [edge, field.join('/'), code])).toEqual([
      [0, 'target', 'orphan_target'],
      [undefined, 'options/maxConcurrentRuns', 'concurrency_invalid'],
    ]);
  });
});

describe('a node', () => {
  test('each type has a template whose config is valid', () => {
    expect(nodeTemplates.map(({ type }) => type).toSorted()).toEqual([...nodeTypes.keys()].toSorted());
    for (const { type, config } of nodeTemplates) {
      const [node] = read([{ id: 'a', type, config }]).nodes;
      expect(node === undefined ? undefined : inspectNode(node).findings, type).toEqual([]);
    }
  });

  test('offers its handles, and keeps those that edges use while its config is invalid', () => {
    const { nodes, edges } = read(
      [
        { id: 'big', type: 'condition', config: { branches: [{ id: 'yes' }], defaultBranch: 'no' } },
        { id: 'each', type: 'loop', config: { sourceVariable: '{{ctx.input}}' } },
        { id: 'end', type: 'end' },
      ],
      [{ source: 'big', sourceHandle: 'maybe', target: 'end' }],
    );
    expect(nodes.map((node) => handlesOf(node, edges))).toEqual([['yes', 'no', 'error', 'maybe'], ['loop', 'done', 'error'], []]);
  });

  test('reads the names that nodes before it write', () => {
    const definition = read(
      [
        { id: 'start', type: 'start' },
        { id: 'price', type: 'javascript', config: { code: 'return 1', outputVariable: 'total' } },
        { id: 'other', type: 'javascript', config: { code: 'return 1', outputVariable: 'unseen' } },
        { id: 'end', type: 'end' },
      ],
      [
        { source: 'start', target: 'price' },
        { source: 'start', target: 'other' },
        { source: 'price', target: 'end' },
      ],
    );
    expect(contextNamesFor(definition, 'end')).toEqual([
      { name: 'input', by: undefined },
      { name: 'total', by: 'price' },
    ]);
  });
});

describe('the merge of two changed definitions', () => {
  const base = {
    nodes: [
      { id: 'a', type: 'start' },
      { id: 'b', type: 'javascript', config: { code: 'return 1' } },
      { id: 'c', type: 'end' },
    ],
    edges: [
      { source: 'a', target: 'b' },
      { source: 'b', target: 'c' },
    ],
    options: {},
  };
  const code = (text: string) => ({ id: 'b', type: 'javascript', config: { code: text } });
  const [a, , c] = base.nodes;
  const nodesWith = (text: string) => [a ?? {}, code(text), c ?? {}];

  test('takes what only one side changed, and finds what both did', () => {
    const newest = { ...base, nodes: [...nodesWith('return 2'), { id: 'd', type: 'end' }], options: { deadlineSeconds: 60 } };
    const mine = { ...base, nodes: nodesWith('return 3'), edges: [{ source: 'a', target: 'b' }] };
    const parts = mergeParts(base, newest, mine);
    expect(parts.map(({ key, isConflict, proposal }) => [key, isConflict, proposal])).toEqual([
      ['node b', true, 'mine'],
      ['node d', false, 'newest'],
      ['edge b → c', false, 'mine'],
      ['option deadlineSeconds', false, 'newest'],
    ]);
    const result = merged(mine, parts, ({ proposal }) => proposal);
    expect(result).toEqual({
      nodes: [a, code('return 3'), c, { id: 'd', type: 'end' }],
      edges: [{ source: 'a', target: 'b' }],
      options: { deadlineSeconds: 60 },
    });
    expect(merged(mine, parts, () => 'newest')).toEqual({
      nodes: newest.nodes,
      edges: [
        { source: 'a', target: 'b' },
        { source: 'b', target: 'c' },
      ],
      options: { deadlineSeconds: 60 },
    });
  });

  test('the same change on both sides is no conflict, and a moved node is no change', () => {
    const moved = { ...base, nodes: [{ ...a, position: { x: 1, y: 1 } }, code('return 2'), c ?? {}] };
    const parts = mergeParts(base, { ...base, nodes: nodesWith('return 2') }, moved);
    expect(parts.map(({ key, isConflict }) => [key, isConflict])).toEqual([['node b', false]]);
    expect(merged(moved, parts, ({ proposal }) => proposal).nodes).toEqual(moved.nodes);
  });

  test('a node that one side removed and the other changed is a conflict', () => {
    const mine = { ...base, nodes: [a ?? {}, c ?? {}] };
    const parts = mergeParts(base, { ...base, nodes: nodesWith('return 2') }, mine);
    expect(parts.map(({ key, isConflict, mine: own }) => [key, isConflict, own])).toEqual([['node b', true, undefined]]);
    expect(merged(mine, parts, () => 'newest').nodes).toEqual([a, c, code('return 2')]);
  });
});
