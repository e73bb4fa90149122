import { expect, test } from 'vitest';
import { canonicalDefinition, canonicalStart } from '../../lib/api/aliases.ts';

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

test('the ends of an edge may be told as the ids of nodes', () => {
  const edge = { source_node_id: 'a', target_node_id: 'b' };
  expect(canonicalDefinition({ edges: [edge] })).toEqual({ edges: [{ source: 'a', target: 'b' }] });
});

test('a label that is null is none', () => {
  expect(canonicalDefinition({ nodes: [{ id: 'a', type: 't', label: null }] })).toEqual({ nodes: [{ id: 'a', type: 't' }] });
});

test.each(['inputParams', 'inputValues'])('%s of a start is its input', (name) => {
  expect(canonicalStart({ workflowName: 'w', [name]: { n: 1 } })).toEqual({ workflowName: 'w', input: { n: 1 } });
});

test.each([
  { input: 1, inputParams: 2 },
  { inputParams: 1, inputValues: 2 },
])('two spellings of an input are left to be refused: %j', (body) => {
  expect(canonicalStart(body)).toEqual(body);
});

test('settings written on a node move into its config', () => {
  const node = { id: 'a', type: 't', on_parent_failure: 'propagate', timeout_ms: 5, config: { code: 'x' } };
  expect(canonicalDefinition({ nodes: [node] })).toEqual({
    nodes: [{ id: 'a', type: 't', config: { code: 'x', on_parent_failure: 'propagate', timeout_ms: 5 } }],
  });
});

test('two spellings of one key are left to be refused', () => {
  const edge = { mergeStrategy: 'array', merge_strategy: 'concat' };
  expect(canonicalDefinition({ edges: [edge] })).toEqual({ edges: [edge] });
  const node = { id: 'a', merge: 'array', config: { merge: 'concat' } };
  expect(canonicalDefinition({ nodes: [node] })).toEqual({ nodes: [node] });
});

test.each([undefined, null, 'text', 5, [], { nodes: 'x', edges: 5, options: null }, { nodes: [null, 1], edges: ['x'] }])(
  'what is no definition stays what it is: %j',
  (body) => {
    expect(canonicalDefinition(body)).toEqual(body);
  },
);
