import { expect, test } from 'vitest';
import { canonicalDefinition } from '../../lib/api/aliases.ts';

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
