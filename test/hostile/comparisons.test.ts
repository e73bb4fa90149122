/** The work of comparisons is counted for each node and each decision, and takes time in proportion to it. */
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { beside, chain, completes, definition, failedBy, checkScenarios } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const comparing = (id: string, operator: string, count: number, rightValue: JsonValue, leftValue: JsonValue): JsonObject => ({
  id,
  type: 'condition',
  config: {
    branches: Array.from({ length: Math.ceil(count / 100) }, (_, branch) => ({
      id: `b${branch}`,
      conditionLogic: 'OR',
      conditions: Array.from({ length: Math.min(count, 100) }, () => ({ leftValue, operator, rightValue })),
    })),
  },
});
const compare = (
  operator: string,
  count: number,
  rightValue: JsonValue,
  leftValue: JsonValue = '{{ctx.input.value}}',
): JsonObject => chain(comparing('c', operator, count, rightValue, leftValue));
const tooCostly = failedBy('comparison_too_costly', 'invalid');
/** Edges with conditions on a script's output, five to each following node. */
const conditional = (edges: number, code: string, condition: JsonObject): JsonObject => ({
  name: 'hostile',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 's', type: 'javascript', config: { code } },
    ...Array.from({ length: edges / 5 }, (_, at) => ({ id: `n${at}`, type: 'delay', config: { delayMs: 0 } })),
  ],
  edges: [
    { source: 'start', target: 's' },
    ...Array.from({ length: edges }, (_, at) => ({
      source: 's',
      target: `n${Math.floor(at / 5)}`,
      sourceOutputKey: 'value',
      targetParamLabel: `p${at % 5}`,
      condition,
    })),
  ],
});
const zeros = Array.from({ length: 200_000 }, () => 0);
const beginning = 'a'.repeat(50_000);
const slow = { withinMs: 20_000 };
const slowest = { ...slow, isSlow: true } as const;

checkScenarios('comparisons', createRunner(), [
  definition('a repetitive text that differs in the middle', compare('contains', 1, `{{ctx.input.part}}`), completes, {
    input: { value: 'a'.repeat(800_000), part: `${beginning}b${beginning}` },
  }),
  definition(
    'the same by the condition of an edge',
    {
      name: 'hostile',
      nodes: [
        { id: 'start', type: 'start' },
        { id: 's', type: 'javascript', config: { code: `return { value: 'a'.repeat(800_000) }` } },
        { id: 'next', type: 'delay', config: { delayMs: 0 } },
      ],
      edges: [
        { source: 'start', target: 's' },
        {
          source: 's',
          target: 'next',
          sourceOutputKey: 'value',
          condition: { type: 'contains', value: `${beginning}b${beginning}` },
        },
      ],
    },
    completes,
  ),
  definition(
    'conditions of 9,900 edges that search a text in one output',
    conditional(9_900, `return { value: 'a'.repeat(800_000) }`, { type: 'contains', value: `${'a'.repeat(80)}b` }),
    tooCostly,
    slow,
  ),
  definition(
    'conditions of 9,900 edges that search an item in one output',
    conditional(9_900, `return { value: Array.from({ length: 100_000 }, () => 0) }`, { type: 'contains', value: 1 }),
    tooCostly,
    slow,
  ),
  definition(
    'conditions of 50 edges that search a text in one output',
    conditional(50, `return { value: 'a'.repeat(800_000) }`, { type: 'contains', value: 'b' }),
    completes,
  ),
  definition('10,000 searches of an item in 200,000', compare('contains', 10_000, 1), tooCostly, {
    input: { value: zeros },
    ...slowest,
  }),
  definition('10,000 comparisons of 200,000 items', compare('equals', 10_000, '{{ctx.input.other}}'), tooCostly, {
    input: { value: zeros, other: [...zeros.slice(1), 1] },
    ...slowest,
  }),
  definition('10,000 texts of spaces as numbers', compare('greater_than', 10_000, 1), tooCostly, {
    input: { value: ' '.repeat(400_000) },
    ...slow,
  }),
  definition(
    'twenty nodes that search 200,000 items ten times',
    beside(Array.from({ length: 20 }, (_, n) => comparing(`n${n}`, 'contains', 10, 1, '{{ctx.input.value}}'))),
    completes,
    { input: { value: zeros }, ...slowest },
  ),
]);
