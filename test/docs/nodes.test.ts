/** docs/NODES.md names every type, cause, operator and setting, and no other. */
import { describe, expect, test } from 'vitest';
import { failureCauses } from '../../lib/engine/retry.ts';
import { mergeStrategies } from '../../lib/engine/graph/definition.ts';
import { nodeTypes } from '../../lib/nodes/node-types.ts';
import { comparisonNames } from '../../lib/nodes/condition/operators.ts';
import { condition } from '../../lib/nodes/condition/shape.ts';
import { dataQuery } from '../../lib/nodes/data-query/shape.ts';
import { delay } from '../../lib/nodes/delay/shape.ts';
import { end } from '../../lib/nodes/end/shape.ts';
import { http } from '../../lib/nodes/http/shape.ts';
import { javascript } from '../../lib/nodes/javascript/shape.ts';
import { loop } from '../../lib/nodes/loop/shape.ts';
import { lens } from '../../lib/nodes/lens/shape.ts';
import { scriptErrorCodes } from '../../lib/nodes/sandbox/script.ts';
import { signal } from '../../lib/nodes/signal/shape.ts';
import { subflow } from '../../lib/nodes/subflow/shape.ts';
import { graphDefaults, settingKeys } from '../../lib/nodes/settings.ts';
import { quotedIn, read, rowsIn } from './documents.ts';
import { example, exampleNames } from './run-example.ts';

const text = read('docs/NODES.md');
const rows = rowsIn(text);
/** What the first cells of a section's rows quote, those of a table with the named first entry. */
const firsts = (section: string): readonly string[] =>
  rows.filter((row) => row.section === section).flatMap(({ cells: [first = ''] }) => quotedIn(first));

test('every node type, and no other', () => {
  expect(firsts('Nodes').toSorted()).toEqual([...nodeTypes.keys()].toSorted());
});

test('each node type has an example that uses it', () => {
  for (const { cells } of rows.filter(({ section }) => section === 'Nodes')) {
    const [type = ''] = quotedIn(cells[0] ?? '');
    const name = /\(\.\.\/examples\/([a-z-]+)\/workflow\.json\)/.exec(cells[3] ?? '')?.[1] ?? '';
    expect(exampleNames, type).toContain(name);
    expect(example(name).workflow.nodes.map((node) => node.type)).toContain(type);
  }
});

test('every cause of a failure', () => {
  expect(firsts('Every node')).toEqual(expect.arrayContaining([...failureCauses]));
});

test('every cause that is tried again by default', () => {
  const again = rows
    .filter(({ section, cells }) => section === 'Every node' && cells[2] === 'yes')
    .flatMap(({ cells: [cause = ''] }) => quotedIn(cause));
  expect(again).toEqual(graphDefaults.retry.retryOn);
});

test('every setting of every node', () => {
  const camelCase = [...settingKeys].filter((key) => !key.includes('_'));
  expect(firsts('Every node')).toEqual(expect.arrayContaining(camelCase));
  for (const strategy of mergeStrategies) expect(text).toContain(`\`${strategy}\``);
});

describe.each([
  ['end', end.schema.shape],
  ['condition', condition.schema.shape],
  ['javascript', javascript.schema.shape],
  ['delay', delay.schema.shape],
  ['http', http.schema.shape],
  ['dataQuery', dataQuery.schema.shape],
  ['signal', signal.schema.shape],
  ['subflow', subflow.schema.shape],
  ['loop', loop.schema.shape],
  ['lens', lens.schema.shape],
] as const)('%s', (section, shape) => {
  test('every setting', () => {
    expect(firsts(section)).toEqual(expect.arrayContaining(Object.keys(shape)));
  });
});

test('every operator, and every code of a script', () => {
  expect(firsts('condition')).toEqual(expect.arrayContaining([...comparisonNames, 'expression']));
  expect(firsts('javascript')).toEqual(expect.arrayContaining([...scriptErrorCodes]));
});

test('every code of a lens that failed', () => {
  const files = [
    'nodes/lens/failure',
    'models/chat-completions',
    'models/chat-stream',
    'models/configured-models',
    'aws/bedrock',
  ];
  const said = files.map((file) => read(`lib/${file}.ts`)).join('\n');
  const told = [...said.matchAll(/(?:code: |failed\((?:'[a-z_]+', )?)'([a-z]+_[a-z_]+)'/g)].map(([, code = '']) => code);
  expect(told.length).toBeGreaterThan(15);
  const written = [...firsts('lens'), 'input_contract_violation', 'output_contract_violation'];
  expect([...new Set(told)].filter((code) => !written.includes(code))).toEqual([]);
});

test('every code of a request that failed', () => {
  const said = ['run', 'response'].map((file) => read(`lib/nodes/http/${file}.ts`)).join('\n');
  const codes = [...said.matchAll(/(?:code: |refused\()'([a-z_]+)'/g)].map(([, code]) => code);
  expect(firsts('http')).toEqual(expect.arrayContaining([...new Set(codes)]));
});

test('every code of a query that failed', () => {
  const said = ['run', 'http-query', 'postgres', 'aurora'].map((file) => read(`lib/nodes/data-query/${file}.ts`)).join('\n');
  const codes = [...said.matchAll(/code: '([a-z_]+)'/g)].map(([, code]) => code);
  expect(firsts('dataQuery')).toEqual(expect.arrayContaining([...new Set(codes)]));
});
