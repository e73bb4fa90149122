/** Inputs of a node: the run's inputs, then the values of its edges, merged with the strategy of the edge or else of the node. */
import { expect } from 'vitest';
import { mergeStrategies } from '../../../lib/engine/graph/definition.ts';
import type { JsonObject, JsonValue } from '../../../lib/engine/json.ts';
import { type TopologyEdge, type Topology, choice, finishedWith, failedWith, singleAttempt, returnsInputs } from '../topology.ts';

const labelled = (more: Partial<TopologyEdge> = {}): readonly (string | TopologyEdge)[] => [
  'start -> a',
  'start -> b',
  { from: 'a -> join', targetParamLabel: 'x', ...more },
  { from: 'b -> join', targetParamLabel: 'x', ...more },
];

const replies = { a: finishedWith('one'), b: finishedWith({ two: 2 }), join: returnsInputs };

const merged: Readonly<Record<(typeof mergeStrategies)[number], JsonValue>> = {
  last_write_wins: { two: 2 },
  concat: 'one\n\n{"two":2}',
  array: ['one', { two: 2 }],
  json_object: { A: 'one', b: { two: 2 } },
};

const givesJoin =
  (inputs: JsonObject): Topology['verify'] =>
  ({ inputsOf, status }) => {
    expect(inputsOf('join')).toEqual(inputs);
    expect(status).toBe('completed');
  };

const named = (strategy: string): string => strategy.replaceAll('_', '-');

const byStrategy = mergeStrategies.flatMap((strategy): readonly Topology[] => [
  {
    name: `merge-${named(strategy)}-by-the-edge`,
    description: `The merge strategy ${strategy} of an edge merges two values with the same label.`,
    edges: labelled({ mergeStrategy: strategy }),
    nodes: { a: { label: 'A' } },
    replies,
    verify: givesJoin({ x: merged[strategy] }),
  },
  {
    name: `merge-${named(strategy)}-by-the-node`,
    description: `The merge strategy ${strategy} of a node merges two values with the same label when no edge has a strategy.`,
    edges: labelled(),
    nodes: { a: { label: 'A' }, join: { merge: strategy } },
    replies,
    verify: givesJoin({ x: merged[strategy] }),
  },
]);

export const merges: readonly Topology[] = [
  ...byStrategy,
  {
    name: 'merge-edge-before-node',
    description: 'The strategy of an edge overrides the strategy of the node, even if only one of the edges has one.',
    edges: [
      'start -> a',
      'start -> b',
      { from: 'a -> join', targetParamLabel: 'x' },
      { from: 'b -> join', targetParamLabel: 'x', mergeStrategy: 'array' },
    ],
    nodes: { join: { merge: 'concat' } },
    replies,
    verify: givesJoin({ x: ['one', { two: 2 }] }),
  },
  {
    name: 'merge-of-one-edge',
    description: 'The strategy of a node applies to labels that several edges share; the value of a single edge is not changed.',
    edges: [
      'start -> a',
      'start -> b',
      { from: 'a -> join', targetParamLabel: 'x' },
      { from: 'b -> join', targetParamLabel: 'x' },
      { from: 'b -> join', targetParamLabel: 'y' },
    ],
    nodes: { join: { merge: 'array' } },
    replies,
    verify: givesJoin({ x: ['one', { two: 2 }], y: { two: 2 } }),
  },
  {
    name: 'merge-by-default',
    description: 'Without a strategy, the last edge of the definition wins, even if its source ended first.',
    edges: [
      'start -> nap -> a',
      'start -> b',
      { from: 'a -> join', targetParamLabel: 'x' },
      { from: 'b -> join', targetParamLabel: 'x' },
    ],
    nodes: { nap: { type: 'delay', delaySeconds: 5 } },
    replies,
    verify: givesJoin({ x: { two: 2 } }),
  },
  {
    name: 'merge-shared-labels',
    description: 'Sources that share a label become an object with the ids of the sources as keys.',
    edges: labelled({ mergeStrategy: 'json_object' }),
    nodes: { a: { label: 'Same' }, b: { label: 'Same' } },
    replies,
    verify: givesJoin({ x: { a: 'one', b: { two: 2 } } }),
  },
  {
    name: 'merge-without-labels',
    description: 'An edge without a label counts for the join and brings no value.',
    edges: ['start -> a -> join', 'start -> b', { from: 'b -> join', targetParamLabel: 'x' }],
    replies,
    verify: givesJoin({ x: { two: 2 } }),
  },
  {
    name: 'merge-null-values',
    description: 'A null value, or a path without a value, becomes null in an array and nothing in a text.',
    edges: [
      'start -> a',
      'start -> b',
      { from: 'a -> join', targetParamLabel: 'list', mergeStrategy: 'array' },
      { from: 'b -> join', targetParamLabel: 'list', mergeStrategy: 'array', sourceOutputKey: 'no.where' },
      { from: 'a -> join', targetParamLabel: 'text', mergeStrategy: 'concat' },
      { from: 'b -> join', targetParamLabel: 'text', mergeStrategy: 'concat', sourceOutputKey: 'two' },
    ],
    replies: { a: finishedWith(null), b: finishedWith({ two: 'two' }), join: returnsInputs },
    verify: givesJoin({ list: [null, null], text: '\n\ntwo' }),
  },
  {
    name: 'merge-over-the-runs-input',
    description: 'The value of an edge replaces the run’s input of the same name; the other inputs remain.',
    edges: ['start -> a', { from: 'a -> join', targetParamLabel: 'x' }],
    input: { x: 'from outside', y: 'stays' },
    replies,
    verify: givesJoin({ x: 'one', y: 'stays' }),
  },
  {
    name: 'merge-without-failed-parents',
    description: 'A branch that is not taken, and a failed parent with an error edge, bring no value to a merge.',
    edges: [
      'start -> check',
      'check/yes -> a',
      'start -> b',
      'start -> c',
      ...['a', 'b', 'c'].map((id) => ({ from: `${id} -> join`, targetParamLabel: 'x', mergeStrategy: 'array' as const })),
      'b/error -> rescue',
    ],
    nodes: { check: choice('take', 'yes'), b: singleAttempt },
    replies: { b: failedWith(), c: finishedWith('three'), join: returnsInputs },
    verify: givesJoin({ x: ['three'] }),
  },
  {
    name: 'merge-paths',
    description: 'A dotted path selects a part of an output, and `output` selects all of it.',
    edges: [
      'start -> a',
      { from: 'a -> join', targetParamLabel: 'part', sourceOutputKey: 'deep.er' },
      { from: 'a -> join', targetParamLabel: 'all', sourceOutputKey: 'output' },
    ],
    replies: { a: finishedWith({ deep: { er: [1, 2] } }), join: returnsInputs },
    verify: givesJoin({ part: [1, 2], all: { deep: { er: [1, 2] } } }),
  },
];
