/** The inputs of an attempt: the run's input, then the values of the edges under their labels. */
import { expect, test } from 'vitest';
import type { JsonValue } from '../../../lib/engine/json.ts';
import { type EdgeSpec, type NodeTraits, failed, finished, graph, completesAtOnce } from '../graph-builder.ts';
import { started } from '../graph-run-fixture.ts';

const brings = (from: string, targetParamLabel: string, rest: Omit<EdgeSpec, 'from'> = {}): EdgeSpec => ({
  from,
  targetParamLabel,
  ...rest,
});

/** The inputs of `t` after `a`, `b`, `c` with these outputs, which end in the order c, a, b. */
const inputsOf = (
  edges: readonly EdgeSpec[],
  outputs: Readonly<Record<string, JsonValue>>,
  traits: NodeTraits = {},
  input: JsonValue = {},
) => {
  const sources = Object.keys(outputs);
  const play = started(
    graph({
      nodes: { start: completesAtOnce, ...labelled, t: traits },
      edges: [...sources.map((id) => `start -> ${id}`), ...edges],
    }),
    {},
    input,
  );
  for (const id of sources.toSorted().toReversed()) play.ends(id, finished(outputs[id] ?? null));
  return play.inputOf('t').inputs;
};

const labelled: Readonly<Record<string, NodeTraits>> = { a: { label: 'Alpha' }, b: {}, c: { label: 'Gamma' } };

test('an edge’s value has its label, and replaces the run’s input of that name', () => {
  expect(inputsOf([brings('a -> t', 'x')], { a: 1 }, {}, { x: 'own', y: 'kept' })).toEqual({ x: 1, y: 'kept' });
});

test('an edge without a label brings no value', () => {
  expect(inputsOf([brings('a -> t', 'x'), { from: 'b -> t' }], { a: 1, b: 2 })).toEqual({ x: 1 });
});

test('a run input that is not an object has no names', () => {
  for (const input of ['text', 5, null, [1, 2]]) expect(inputsOf([brings('a -> t', 'x')], { a: 1 }, {}, input)).toEqual({ x: 1 });
});

test('a node without labelled edges has the run’s input', () => {
  expect(inputsOf([{ from: 'a -> t' }], { a: 1 }, {}, { x: 'own' })).toEqual({ x: 'own' });
});

const nested = { text: 'hello', deep: { list: [{ n: 1 }], null: null }, 'a.b': 'flat' };

test.each<[string | undefined, JsonValue]>([
  [undefined, nested],
  ['output', nested],
  ['text', 'hello'],
  ['deep.list', [{ n: 1 }]],
  ['deep.null', null],
  ['deep.nothing', null],
  ['deep.nothing.more', null],
  ['text.length', null],
  ['constructor', null],
  ['deep.toString', null],
])('with the path %s an edge brings %j', (path, value) => {
  const key = path === undefined ? {} : { sourceOutputKey: path };
  expect(inputsOf([brings('a -> t', 'x', key)], { a: nested })).toEqual({ x: value });
});

const answer = { kind: 'text', artifactKind: 'json', output: '{"n":1}', data: { n: 1, output: 'x' }, metadata: { model: 'm' } };

test.each<[string | undefined, JsonValue]>([
  [undefined, '{"n":1}'],
  ['output', '{"n":1}'],
  ['data.n', 1],
  ['n', 1],
  ['metadata.model', 'm'],
  ['nothing', null],
])('from a lens envelope, an edge with the path %s brings %j', (path, value) => {
  const key = path === undefined ? {} : { sourceOutputKey: path };
  expect(inputsOf([brings('a -> t', 'x', key)], { a: answer })).toEqual({ x: value });
});

test('several lens envelopes are merged as their texts', () => {
  const edges = [brings('a -> t', 'x', {}), brings('b -> t', 'x', {})];
  expect(inputsOf(edges, { a: answer, b: { ...answer, output: 'two' } }, { merge: 'concat' })).toEqual({ x: '{"n":1}\n\ntwo' });
});

const three = (rest: Omit<EdgeSpec, 'from'> = {}): readonly EdgeSpec[] => [
  brings('a -> t', 'x', rest),
  brings('b -> t', 'x', rest),
  brings('c -> t', 'x', rest),
];
const outputs = { a: 'A', b: { n: 1 }, c: null };

test.each([
  ['last_write_wins', null],
  ['concat', 'A\n\n{"n":1}\n\n'],
  ['array', ['A', { n: 1 }, null]],
  ['json_object', { Alpha: 'A', b: { n: 1 }, Gamma: null }],
] as const)('several values of one name are merged by %s in the order of the edges, not of the results', (merge, value) => {
  expect(inputsOf(three(), outputs, { merge })).toEqual({ x: value });
  expect(inputsOf(three({ mergeStrategy: merge }), outputs)).toEqual({ x: value });
});

test('an edge’s strategy takes precedence over the node’s, and the first edge with one over later edges', () => {
  const [a, b, c] = [brings('a -> t', 'x'), brings('b -> t', 'x', { mergeStrategy: 'array' }), brings('c -> t', 'x')];
  expect(inputsOf([a, b, c], outputs, { merge: 'concat' })).toEqual({ x: ['A', { n: 1 }, null] });
});

test('each name has its own strategy', () => {
  expect(
    inputsOf([...three({ mergeStrategy: 'array' }), brings('a -> t', 'y'), brings('b -> t', 'y')], outputs, { merge: 'concat' }),
  ).toEqual({ x: ['A', { n: 1 }, null], y: 'A\n\n{"n":1}' });
});

test('the node’s strategy applies to labels that several edges share: a single value stays unchanged', () => {
  const edges = [brings('a -> t', 'x'), brings('b -> t', 'x'), brings('b -> t', 'y')];
  expect(inputsOf(edges, { a: 'A', b: { n: 1 } }, { merge: 'array' })).toEqual({ x: ['A', { n: 1 }], y: { n: 1 } });
  expect(inputsOf([brings('b -> t', 'y')], { b: { n: 1 } }, { merge: 'concat' })).toEqual({ y: { n: 1 } });
});

test('an edge’s strategy also applies to a single value: an array of one, a text', () => {
  expect(inputsOf([brings('b -> t', 'x', { mergeStrategy: 'array' })], { b: 1 })).toEqual({ x: [1] });
  expect(inputsOf([brings('b -> t', 'x', { mergeStrategy: 'concat' })], { b: { n: 1 } })).toEqual({ x: '{"n":1}' });
});

test('sources with the same label are distinguished by their ids', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, a: { label: 'Same' }, b: { label: 'Same' }, t: { merge: 'json_object' } },
      edges: ['start -> a', 'start -> b', brings('a -> t', 'x'), brings('b -> t', 'x')],
    }),
  );
  play.ends('a', finished(1));
  play.ends('b', finished(2));
  expect(play.inputOf('t').inputs).toEqual({ x: { a: 1, b: 2 } });
});

test('a branch that was not taken brings no value, and the run’s input stays', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, check: { pure: finished(null, 'yes') }, t: { merge: 'array' } },
      edges: [
        'start -> check',
        'check/yes -> a',
        'check/no -> b',
        brings('a -> t', 'x'),
        brings('b -> t', 'x'),
        brings('b -> t', 'y'),
      ],
    }),
    {},
    { y: 'own' },
  );
  play.ends('a', finished('A'));
  expect(play.inputOf('t').inputs).toEqual({ x: ['A'], y: 'own' });
});

test('the error edge of a failed parent is live and brings no value', () => {
  const play = started(
    graph({ nodes: { start: completesAtOnce }, edges: ['start -> a', brings('a/error -> t', 'x')] }),
    {},
    { x: 'own' },
  );
  play.ends('a', failed());
  expect(play.inputOf('t').inputs).toEqual({ x: 'own' });
});

test('a label that every object has is an input like any other', () => {
  expect(inputsOf([brings('a -> t', '__proto__'), brings('b -> t', 'constructor')], { a: { polluted: 1 }, b: 2 })).toEqual(
    Object.fromEntries([
      ['__proto__', { polluted: 1 }],
      ['constructor', 2],
    ]),
  );
});
