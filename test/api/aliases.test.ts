import { expect, test } from 'vitest';
import { canonicalDefinition, canonicalStart, canonicalView } from '../../lib/api/aliases.ts';

test('snake_case keys of edges and options become camelCase', () => {
  const edge = {
    source: 'a',
    target: 'b',
    source_handle: 'yes',
    source_output_key: 'k',
    target_param_label: 'l',
    merge_strategy: 'array',
  };
  expect(canonicalDefinition({ edges: [edge], options: { deadline_seconds: 5 } })).toEqual({
    edges: [
      { source: 'a', target: 'b', sourceHandle: 'yes', sourceOutputKey: 'k', targetParamLabel: 'l', mergeStrategy: 'array' },
    ],
    options: { deadlineSeconds: 5 },
  });
});

test('source_node_id and target_node_id are aliases of an edge’s ends', () => {
  const edge = { source_node_id: 'a', target_node_id: 'b' };
  expect(canonicalDefinition({ edges: [edge] })).toEqual({ edges: [{ source: 'a', target: 'b' }] });
});

test('a null label is removed', () => {
  expect(canonicalDefinition({ nodes: [{ id: 'a', type: 't', label: null }] })).toEqual({ nodes: [{ id: 'a', type: 't' }] });
});

test.each(['inputParams', 'inputValues'])('%s is an alias of the input of a start', (name) => {
  expect(canonicalStart({ workflowName: 'w', [name]: { n: 1 } })).toEqual({ workflowName: 'w', input: { n: 1 } });
});

test.each([
  { input: 1, inputParams: 2 },
  { inputParams: 1, inputValues: 2 },
])('an input with its alias is not renamed, so that the schema refuses it: %j', (body) => {
  expect(canonicalStart(body)).toEqual(body);
});

test('settings on a node move to its config', () => {
  const node = { id: 'a', type: 't', on_parent_failure: 'propagate', timeout_ms: 5, config: { code: 'x' } };
  expect(canonicalDefinition({ nodes: [node] })).toEqual({
    nodes: [{ id: 'a', type: 't', config: { code: 'x', on_parent_failure: 'propagate', timeout_ms: 5 } }],
  });
});

test('a key with its alias is not renamed, so that the schema refuses it', () => {
  const edge = { mergeStrategy: 'array', merge_strategy: 'concat' };
  expect(canonicalDefinition({ edges: [edge] })).toEqual({ edges: [edge] });
  const node = { id: 'a', merge: 'array', config: { merge: 'concat' } };
  expect(canonicalDefinition({ nodes: [node] })).toEqual({ nodes: [node] });
});

test.each([undefined, null, 'text', 5, [], { nodes: 'x', edges: 5, options: null }, { nodes: [null, 1], edges: ['x'] }])(
  'a value that is not a definition is unchanged: %j',
  (body) => {
    expect(canonicalDefinition(body)).toEqual(body);
  },
);

test('title and workflowOptions are the name and the options', () => {
  const body = { title: 'w', workflowOptions: { deadline_seconds: 5 }, nodes: [] };
  expect(canonicalDefinition(body)).toEqual({ name: 'w', options: { deadlineSeconds: 5 }, nodes: [] });
  const twice = { title: 'w', name: 'v' };
  expect(canonicalDefinition(twice)).toEqual(twice);
});

test.each([
  [{ lens_id: 'blurb', version_id: null }, { lens: 'blurb' }],
  [{ lens_id: 'blurb' }, { lens: 'blurb' }],
  [
    { lens_id: 'blurb', version_id: '3' },
    { lens: 'blurb', version: 3 },
  ],
  [
    { lens_id: 'blurb', version_id: 'v_7f' },
    { lens: 'blurb', version: 'v_7f' },
  ],
])('a node with %j is a lens node', (reference, config) => {
  const node = { id: 'a', label: null, ordinal: 0, config: { model: 'm' }, timeout_ms: 250, ...reference };
  expect(canonicalDefinition({ nodes: [node] })).toEqual({
    nodes: [{ id: 'a', type: 'lens', config: { model: 'm', timeout_ms: 250, ...config } }],
  });
});

test('a lens that the node and its config name is not moved, so that the schema refuses it', () => {
  const node = { id: 'a', type: 'lens', lens_id: 'blurb', config: { lens: 'other' } };
  expect(canonicalDefinition({ nodes: [node] })).toEqual({ nodes: [node] });
});

test('nodes with ordinals are put in their order', () => {
  const nodes = [2, 0, 1].map((ordinal) => ({ id: `n${ordinal}`, type: 't', ordinal }));
  expect(canonicalDefinition({ nodes })).toEqual({ nodes: ['n0', 'n1', 'n2'].map((id) => ({ id, type: 't' })) });
  const mixed = [
    { id: 'a', type: 't', ordinal: 1 },
    { id: 'b', type: 't' },
  ];
  expect(canonicalDefinition({ nodes: mixed })).toEqual({ nodes: mixed });
});

test('widgetConfig is the configuration of a view', () => {
  expect(canonicalView({ widgetType: 'chart', widgetConfig: { a: 1 } })).toEqual({ widgetType: 'chart', config: { a: 1 } });
});
