/** Hostile graphs, inputs and signals are refused before they are stored, or run to their end. */
import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { beside, chain, completes, definition, failedBy, returns, checkScenarios, refusedWith } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const js = (id: string, code: string, config: JsonObject = {}): JsonObject => ({
  id,
  type: 'javascript',
  config: { code, retry: { attempts: 1 }, ...config },
});
const nap = (id: string): JsonObject => ({ id, type: 'delay', config: { delayMs: 0 } });
const end = (sourceVariable: string): JsonObject => ({
  id: 'end',
  type: 'end',
  config: { outputParameters: [{ name: 'got', sourceVariable }] },
});
const many = <Item>(count: number, one: (n: number) => Item): readonly Item[] => Array.from({ length: count }, (_, n) => one(n));
const graph = (
  nodes: readonly JsonObject[],
  edges: readonly (readonly [string, string, JsonObject?])[],
  more: JsonObject = {},
): JsonObject => ({
  name: 'hostile',
  nodes: [{ id: 'start', type: 'start' }, ...nodes],
  edges: edges.map(([source, target, rest = {}]) => ({ source, target, ...rest })),
  ...more,
});
const loop = (sourceVariable: string, config: JsonObject = {}): JsonObject => ({
  id: 'l',
  type: 'loop',
  config: { sourceVariable, ...config },
});
const body = (code: string, config: JsonObject = {}, of = '{{ctx.input.items}}'): JsonObject =>
  graph(
    [loop(of, config), js('b', code), end('{{ctx.loopResults}}')],
    [
      ['start', 'l'],
      ['l', 'b', { sourceHandle: 'loop' }],
      ['l', 'end', { sourceHandle: 'done' }],
    ],
  );
const waiting: JsonObject = chain(
  { id: 'w', type: 'signal', config: { name: 'paid', expiresInSeconds: 60 } },
  end('{{ctx.__node_w.output}}'),
);
const calling = (name: string, others: JsonObject = {}): JsonObject =>
  chain({ id: 'k', type: 'subflow', config: { workflowName: name, retry: { attempts: 1 }, ...others } });
const nested = (levels: number): JsonValue => {
  let value: JsonValue = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
};

/** A loop whose iterations are decided without a worker: 700 nodes in each, with ids that do not compress. */
const pureBody = (isSkipped: boolean): JsonObject => {
  const naps = many(700, (n) => createHash('sha512').update(String(n)).digest('base64url'));
  const first: JsonObject = {
    id: 'c',
    type: 'condition',
    config: { branches: [{ id: 'never', conditions: [{ leftValue: 1, operator: 'equals', rightValue: 2 }] }] },
  };
  return graph(
    [loop('{{ctx.input.items}}', { concurrency: 100 }), first, ...naps.map((id) => nap(id))],
    [
      ['start', 'l'],
      ['l', 'c', { sourceHandle: 'loop' }],
      ...naps.map(
        (id, at) => [naps[at - 1] ?? 'c', id, at === 0 ? { sourceHandle: isSkipped ? 'never' : 'default' } : {}] as const,
      ),
    ],
  );
};

checkScenarios('graph shapes', createRunner(), [
  definition('two thousand nodes in a chain', chain(...many(1_999, (n) => nap(`z${n}`))), completes, { withinMs: 20_000 }),
  definition('two thousand parallel nodes', beside(many(1_999, (n) => nap(`z${n}`))), completes, { withinMs: 20_000 }),
  definition('two thousand and one nodes', beside(many(2_000, (n) => nap(`z${n}`))), refusedWith('definition_too_large')),
  definition(
    'ten thousand edges between a hundred and a hundred',
    graph(
      [...many(100, (n) => nap(`a${n}`)), ...many(98, (n) => nap(`b${n}`))],
      [
        ...many(100, (n) => ['start', `a${n}`] as const),
        ...many(9_800, (n) => [`a${n % 100}`, `b${Math.floor(n / 100)}`] as const),
      ],
    ),
    completes,
    { withinMs: 20_000 },
  ),
  definition(
    'ten thousand and one edges',
    graph(
      [nap('a')],
      many(10_001, () => ['start', 'a'] as const),
    ),
    refusedWith('definition_too_large'),
  ),
  definition('a hundred parallel iterations of 700 nodes that need no worker', pureBody(false), completes, {
    input: { items: many(100, (n) => n) },
    withinMs: 30_000,
    isSlow: true,
  }),
  definition('the same with nodes that are skipped', pureBody(true), completes, {
    input: { items: many(100, (n) => n) },
    withinMs: 30_000,
  }),
  definition(
    'an edge to itself',
    graph(
      [nap('a')],
      [
        ['start', 'a'],
        ['a', 'a'],
      ],
    ),
    refusedWith('self_edge'),
  ),
  definition(
    'a cycle of two',
    graph(
      [nap('a'), nap('b')],
      [
        ['start', 'a'],
        ['a', 'b'],
        ['b', 'a'],
      ],
    ),
    refusedWith('cycle_detected'),
  ),
  definition(
    'a cycle of a thousand',
    graph(
      many(1_000, (n) => nap(`a${n}`)),
      [['start', 'a0'], ...many(1_000, (n) => [`a${n}`, `a${(n + 1) % 1_000}`] as const)],
    ),
    refusedWith('cycle_detected'),
  ),
  definition(
    'an edge into the start',
    graph(
      [nap('a')],
      [
        ['start', 'a'],
        ['a', 'start'],
      ],
    ),
    refusedWith('edge_into_start'),
  ),
  definition(
    'the same id for all',
    graph(
      many(50, () => nap('a')),
      [['start', 'a']],
    ),
    refusedWith('duplicate_node_id'),
  ),
  definition(
    'an id that names a prototype',
    graph(
      [js('constructor', 'return 1'), js('__proto__', 'return 2')],
      [
        ['start', 'constructor'],
        ['constructor', '__proto__'],
      ],
    ),
    { ends: 'completed' },
  ),
  definition(
    'a variable that names a prototype',
    chain(js('a', 'return 1', { outputVariable: 'constructor' }), end('{{ctx.constructor}}')),
    returns(1),
  ),
  definition('a reserved variable', chain(js('a', 'return 1', { outputVariable: '__system' })), { ends: 'publish' }),
  definition('an unknown type', chain({ id: 'a', type: 'constructor' }), refusedWith('node_type_unknown')),
  definition(
    'a handle that does not exist',
    graph(
      [nap('a'), nap('b')],
      [
        ['start', 'a'],
        ['a', 'b', { sourceHandle: 'toString' }],
      ],
    ),
    refusedWith('unknown_handle'),
  ),
  definition(
    'errors that lead to errors',
    graph(
      many(50, (n) => js(`a${n}`, 'throw 1')),
      [['start', 'a0'], ...many(49, (n) => [`a${n}`, `a${n + 1}`, { sourceHandle: 'error' }] as const)],
    ),
    failedBy('script_threw', 'error'),
    { withinMs: 30_000 },
  ),
  definition(
    'a label of 300 characters',
    {
      ...chain(nap('a')),
      nodes: [
        { id: 'start', type: 'start' },
        { ...nap('a'), label: 'x'.repeat(300) },
      ],
    },
    { ends: 'publish' },
  ),
  definition(
    'a hundred attempts of a script that throws',
    chain(js('a', 'throw 1', { retry: { attempts: 100, backoffMs: 0 } })),
    failedBy('script_threw', 'error'),
    { withinMs: 40_000 },
  ),
  definition(
    'a budget that is exceeded at once',
    { ...chain(js('a', 'return 1'), js('b', 'return 2')), options: { budget: { maxNodeExecutions: 1 } } },
    { ends: 'failed' },
  ),
  definition('a code of 262,145 characters', chain(js('a', `return 1 //${'x'.repeat(262_134)}`)), { ends: 'publish' }),
  definition(
    'a code that closes the function around it',
    chain(js('a', '}); globalThis.out = 1; (function () {')),
    refusedWith('code_invalid'),
  ),
  definition('a code of a hundred thousand brackets', chain(js('a', `return ${'['.repeat(100_000)}${']'.repeat(100_000)}`)), {
    ends: 'publish',
  }),
]);

checkScenarios('loops', createRunner(), [
  definition('over more items than it may have', body('return 1'), failedBy('loop_too_many_items', 'invalid'), {
    input: { items: Array.from({ length: 1_001 }, () => 1) },
  }),
  definition('over a value that is not a list', body('return ctx.item'), { ends: 'completed' }, { input: { items: { a: 1 } } }),
  definition('over nothing', body('return 1'), completes, { input: { items: null } }),
  definition(
    'whose iterations return 100 levels',
    body('let a = 1; for (let i = 0; i < 100; i += 1) a = [a]; return a'),
    { ends: 'failed' },
    { input: { items: [1, 2] } },
  ),
  definition(
    'whose results are too large together',
    body('return "x".repeat(1e6)', { concurrency: 20 }),
    { ends: 'failed' },
    { input: { items: Array.from({ length: 20 }, () => 1) }, withinMs: 40_000 },
  ),
  definition('over items of 99 levels', body('return 1'), completes, { input: { items: [nested(97)] } }),
  definition('whose body changes the items', body('ctx.input.items.push(1); return ctx.input.items.length'), completes, {
    input: { items: [1, 2, 3] },
  }),
  definition(
    'whose hundred iterations print up to the limit',
    body('for (let i = 0; i < 300; i += 1) console.log("語".repeat(50) + i); return 1', { concurrency: 100 }),
    completes,
    { input: { items: Array.from({ length: 100 }, (_, n) => n) }, withinMs: 40_000 },
  ),
  definition(
    'whose iterations forge their results',
    body('return { toJSON() { throw { reason: "json:1" } } }'),
    { ends: 'failed' },
    { input: { items: [1] } },
  ),
]);

checkScenarios('signals and subflows', createRunner(), [
  definition('a signal of 98 levels', waiting, { ends: 'completed' }, { signals: [{ name: 'paid', payload: nested(97) }] }),
  definition(
    'a signal that is too deep',
    waiting,
    { ends: 'start', findings: ['too_deep'] },
    { signals: [{ name: 'paid', payload: nested(101) }] },
  ),
  definition(
    'a signal that is too large',
    waiting,
    { ends: 'start', code: 'payload_too_large' },
    { signals: [{ name: 'paid', payload: 'x'.repeat(70_000) }] },
  ),
  definition(
    'a signal with a key named __proto__',
    waiting,
    { ends: 'start', findings: ['key_refused'] },
    { signals: [JSON.parse('{"name":"paid","payload":{"__proto__":1}}') as JsonObject] },
  ),
  definition(
    'a signal with a name that is too long',
    waiting,
    { ends: 'start', code: 'invalid_request' },
    { signals: [{ name: 'n'.repeat(257), payload: 1 }] },
  ),
  definition(
    'a second signal for an ended run',
    waiting,
    { ends: 'start' },
    { signals: many(100, (n) => ({ name: 'paid', payload: n })) },
  ),
  definition('a wait without a signal', waiting, failedBy('signal_expired', 'timeout')),
  definition('a workflow that calls itself', calling('hostile'), { ends: 'failed' }, { withinMs: 20_000 }),
  definition('a workflow that does not exist', calling('nowhere'), { ends: 'failed' }),
  definition(
    'a child that returns 100 levels',
    calling('child'),
    { ends: 'failed' },
    {
      others: [
        {
          ...chain(js('a', 'let a = 1; for (let i = 0; i < 100; i += 1) a = [a]; return a'), end('{{ctx.jsResult}}')),
          name: 'child',
        },
      ],
    },
  ),
  definition(
    'a child that fails with a message of two megabytes',
    calling('child'),
    { ends: 'failed' },
    { others: [{ ...chain(js('a', 'throw new Error("x".repeat(2e6))')), name: 'child' }] },
  ),
  definition(
    'an input of a child that is too deep',
    chain(js('a', 'let a = 1; for (let i = 0; i < 99; i += 1) a = [a]; return a'), {
      id: 'k',
      type: 'subflow',
      config: { workflowName: 'child', input: { a: { b: { c: '{{ctx.jsResult}}' } } } },
    }),
    failedBy('input_too_deep', 'invalid'),
    { others: [{ ...chain(nap('a')), name: 'child' }] },
  ),
]);
