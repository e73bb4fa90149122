/** Names under `ctx` that no node writes are a warning at validation. */
import { expect, test } from 'vitest';
import type { EdgeDefinition, NodeDefinition } from '../../lib/engine/graph/definition.ts';
import { validate } from '../../lib/engine/graph/validate.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { readableNames } from '../../lib/nodes/context-reads.ts';

const findings = (nodes: Readonly<Record<string, readonly [string, JsonObject]>>, loops: readonly string[] = []) => {
  const ids = Object.keys(nodes);
  const edges = ids.slice(1).map((id, index): EdgeDefinition => {
    const source = ids[index] ?? '';
    return { source: nodeId(source), target: nodeId(id), ...(loops.includes(source) ? { sourceHandle: 'loop' } : {}) };
  });
  const definitions = Object.entries(nodes).map(([id, [type, config]]): NodeDefinition => ({ id: nodeId(id), type, config }));
  return validate({ name: workflowName('w'), nodes: definitions, edges, options: {} }, inspectNode);
};
const places = (...given: Parameters<typeof findings>): readonly string[] =>
  findings(...given).map(({ code, pointer }) => `${code} ${pointer}`);

const script = (code: string, config: JsonObject = {}): readonly [string, JsonObject] => ['javascript', { code, ...config }];

test('a template and a script that read a name without a writer are warnings that list the names', () => {
  const found = findings({
    total: script('return 1', { outputVariable: 'total' }),
    use: script('return ctx.totl + ctx.total'),
    end: ['end', { outputParameters: [{ name: 'sum', sourceVariable: 'is {{ctx.Total}}, {{ctx.total}}' }] }],
  });
  expect(found.map(({ severity, code, pointer }) => [severity, code, pointer])).toEqual([
    ['warning', 'variable_unknown', '/nodes/1/config/code'],
    ['warning', 'variable_unknown', '/nodes/2/config/outputParameters/0/sourceVariable'],
  ]);
  expect(found[0]?.message).toBe(
    'no node writes ctx.totl: set outputVariable of a node to totl, or read one of input, total, jsResult',
  );
});

test.each([
  ['the input of the run', 'return ctx.input.order'],
  ['a default output variable', 'return ctx.jsResult'],
  ['a hidden name', 'return ctx.__node_a.output'],
  ['a comment', '// ctx.old\nreturn 1 /* ctx.older */'],
  ['a text', `return 'ctx.old' + "ctx.older"`],
  ['a name that the script writes itself', 'ctx.cache = {}; return ctx.cache'],
  ['a property of another object', 'const a = { ctx: { b: 1 } }; return a.ctx.b'],
  ['a method of every object', 'return ctx.hasOwnProperty("input")'],
  ['a parameter of its own', 'return [1].map((ctx) => ctx.anything)'],
  ['the whole context', 'return Object.keys(ctx)'],
])('no warning: %s', (_what, code) => {
  expect(places({ a: script(code) })).toEqual([]);
});

test.each([
  ['in a template string', 'return `${ctx.old}`'],
  ['with an optional step', 'return ctx?.old?.more'],
  ['in a comparison', 'return ctx.old == 1'],
])('a warning: %s', (_what, code) => {
  expect(places({ a: script(code) })).toEqual(['variable_unknown /nodes/0/config/code']);
});

test('an expression of a condition is code, and a loop writes its item and its index', () => {
  expect(
    places(
      {
        each: ['loop', { sourceVariable: '{{ctx.input.lines}}', itemVariable: 'line' }],
        price: script('return ctx.line.price * ctx.index + ctx.rate'),
      },
      ['each'],
    ),
  ).toEqual(['variable_unknown /nodes/1/config/code']);
  const branches = [{ id: 'yes', conditions: [{ operator: 'expression', expression: 'ctx.amount > 1' }] }];
  expect(places({ check: ['condition', { branches }] })).toEqual([
    'variable_unknown /nodes/0/config/branches/0/conditions/0/expression',
  ]);
});

test('while a node is invalid, no name is unknown, because it may write it', () => {
  expect(places({ a: ['nonsense', {}], b: script('return ctx.total') })).toEqual(['node_type_unknown /nodes/0/type']);
});

test.each(['/* ', String.raw`'\'`, 'ctx ', '(  ', 'ctx.a = ', 'ctx?.'])(
  'code of a quarter megabyte of %j is read in time',
  (part) => {
    const code = part.repeat(Math.floor(262_000 / part.length));
    const before = performance.now();
    inspectNode({ id: nodeId('a'), type: 'javascript', config: { code } });
    inspectNode({ id: nodeId('a'), type: 'javascript', config: { code: `return \`${code.replaceAll('`', '')}\`` } });
    expect(performance.now() - before).toBeLessThan(2_000);
  },
);

test.each<[string, readonly string[]]>([
  ['return 1', []],
  ['return ctx.input.order', ['input']],
  ['return ctx?.a + ctx . b + ctx\n  .c', ['a', 'b', 'c']],
  ['return `${ctx.a} ${"ctx.b"}` // ctx.c', ['a', 'b', 'c']],
  ['ctx.a = 1; ctx.b += 1; delete ctx.c; return typeof ctx.d', ['a', 'b', 'c', 'd']],
  ['return ctx.größe + ctx.$x + ctx._y + ctx.__node_a.output', ['größe', '$x', '_y', '__node_a']],
  ['return ctx.a\u200cb', ['a\u200cb']],
  ['return inputs.ct', []],
  ['return "\\n" + ctx.thisOne', ['thisOne']],
])('a script can read only the names of its text: %s', (code, names) => {
  expect([...(readableNames(code) ?? ['all'])]).toEqual(names);
});

test.each([
  'return ctx',
  'return ctx[inputs.key]',
  'return ctx?.[inputs.key]',
  'const { a } = ctx; return a',
  'return { ...ctx }',
  'return Object.keys(ctx)',
  'return ctx /* . */ .a',
  'return ctx. /* b */ a',
  'return ctx.a + f(ctx)',
  'const f = (ctx) => ctx.a; return f(1)',
  'const f = { ctx }; return f',
  'return ctx.valueOf()',
  'return ctx.hasOwnProperty("a")',
  'return ctx.__proto__',
  'return this["c" + "tx"].a',
  'return globalThis["c" + "tx"].a',
  'return eval("c" + "tx.a")',
  'return new Function("return c" + "tx.a")()',
  'return (() => 1).constructor("return c" + "tx.a")()',
  String.raw`return c\u0074x.a`,
  String.raw`return ctx.\u0061`,
  String.raw`return ctx.a\u0062`,
  'Object.prototype.all = Object.prototype.valueOf; return ctx.all',
  'return Object.getPrototypeOf(async () => 1)',
  'return ctx.__lookupGetter__("a")',
])('a script may read each variable: %s', (code) => {
  expect(readableNames(code)).toBeUndefined();
});
