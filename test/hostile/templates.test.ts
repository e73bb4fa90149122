/** The size of all templates of a node is counted before any of them is resolved. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../lib/engine/json.ts';
import { beside, chain, completes, definition, failedBy, checkScenarios } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const tooLarge = failedBy('context_too_large', 'invalid');
const outputTooLarge = failedBy('output_too_large', 'invalid');
const big = (megabytes: number): JsonObject => ({ big: 'x'.repeat(megabytes * 1_000_000) });
const nearly = { input: { big: 'x'.repeat(1_000_000) } };
const end = (count: number, sourceVariable: string, id = 'end'): JsonObject => ({
  id,
  type: 'end',
  config: { outputParameters: Array.from({ length: count }, (_, n) => ({ name: `o${n}`, sourceVariable })) },
});
const fifteen = '{{ctx.input.big}}'.repeat(15);
const compare = (leftValue: string, operator: string, rightValue: string, count = 1): JsonObject => ({
  id: 'c',
  type: 'condition',
  config: {
    branches: [
      { id: 'yes', conditionLogic: 'OR', conditions: Array.from({ length: count }, () => ({ leftValue, operator, rightValue })) },
    ],
  },
});
const request = (config: JsonObject): JsonObject => ({
  id: 'h',
  type: 'http',
  config: { url: 'http://api.test:1/', method: 'POST', retry: { attempts: 1 }, ...config },
});
const child: JsonObject = { name: 'child', nodes: [{ id: 'start', type: 'start' }], edges: [] };
const many = <Item>(count: number, one: (n: number) => Item): readonly Item[] => Array.from({ length: count }, (_, n) => one(n));
/** Text that does not compress. */
const noise = (bytes: number): string => {
  let text = '';
  for (let n = 0; text.length < bytes; n += 1) text += createHash('sha256').update(String(n)).digest('base64');
  return text.slice(0, bytes);
};

checkScenarios('sums of templates', createRunner(), [
  definition('200 outputs, each fifteen times a text of 1 MB', chain(end(200, fifteen)), tooLarge, nearly),
  definition('200 outputs, each the text itself', chain(end(200, '{{ctx.input.big}}')), outputTooLarge, nearly),
  definition('200 outputs, each all of the context', chain(end(200, '{{ctx}}')), outputTooLarge, nearly),
  definition('200 outputs, each with the context as text', chain(end(200, 'all: {{ctx}}')), tooLarge, nearly),
  definition('one output of fifteen is the largest that can be', chain(end(1, fifteen)), completes, nearly),
  definition(
    'thirty end nodes decided in one commit, fifteen megabytes each',
    beside(many(30, (n) => end(1, fifteen, `e${n}`))),
    outputTooLarge,
    { ...nearly, withinMs: 60_000, isSlow: true },
  ),
  definition(
    'a hundred end nodes that each keep the whole input',
    beside(many(100, (n) => end(1, '{{ctx.input}}', `e${n}`))),
    outputTooLarge,
    {
      ...nearly,
      withinMs: 30_000,
    },
  ),
  definition(
    'a subflow whose input is two hundred times the text',
    chain({
      id: 'k',
      type: 'subflow',
      config: {
        workflowName: 'child',
        input: Object.fromEntries(many(200, (n) => [`i${n}`, fifteen])),
      },
    }),
    tooLarge,
    { ...nearly, others: [child] },
  ),
  definition(
    'a subflow whose input is two hundred times the value',
    chain({
      id: 'k',
      type: 'subflow',
      config: { workflowName: 'child', input: { list: many(200, () => ({ a: '{{ctx.input.big}}' })) } },
    }),
    failedBy('input_too_large', 'invalid'),
    { ...nearly, others: [child] },
  ),
  definition('a comparison of resolved templates', chain(compare(fifteen, 'equals', fifteen, 100)), tooLarge, nearly),
  definition(
    'a comparison of values by reference is free',
    chain(compare('{{ctx.input.big}}', 'equals', '{{ctx.input.none}}', 100)),
    completes,
    nearly,
  ),
  definition(
    'a search in the JSON of an object, a hundred times',
    chain(compare('{{ctx.input}}', 'starts_with', 'nothing', 100)),
    tooLarge,
    nearly,
  ),
  definition('a body of an http node', chain(request({ body: many(200, () => ({ a: fifteen })) })), tooLarge, nearly),
  definition(
    'a body that is two hundred times the value',
    chain(request({ body: many(200, () => ({ a: '{{ctx.input.big}}' })) })),
    tooLarge,
    nearly,
  ),
  definition(
    'headers of an http node',
    chain(request({ headers: Object.fromEntries(many(50, (n) => [`x-${n}`, '{{ctx.input.big}}'])) })),
    tooLarge,
    nearly,
  ),
  definition(
    'a query of an http node',
    chain(request({ query: Object.fromEntries(many(50, (n) => [`q${n}`, '{{ctx.input.big}}'])) })),
    tooLarge,
    nearly,
  ),
  definition(
    'an address of a megabyte',
    chain(request({ url: 'http://api.test:1/{{ctx.input.big}}' })),
    { ends: 'failed' },
    nearly,
  ),
  definition(
    'a name of a signal that is a megabyte',
    chain({ id: 'w', type: 'signal', config: { name: '{{ctx.input.big}}' } }),
    failedBy('signal_invalid', 'invalid'),
    nearly,
  ),
  definition(
    'a name of a signal that is an object',
    chain({ id: 'w', type: 'signal', config: { name: '{{ctx.input}}' } }),
    failedBy('signal_invalid', 'invalid'),
    nearly,
  ),
  definition(
    'a delay until a text of a megabyte',
    chain({ id: 'z', type: 'delay', config: { delayType: 'until', untilTime: '{{ctx.input.big}}' } }),
    failedBy('delay_invalid', 'invalid'),
    nearly,
  ),
  definition(
    'a delay whose length is infinite',
    chain({ id: 'z', type: 'delay', config: { delayType: 'dynamic', delayVariable: '{{ctx.input.n}}' } }),
    failedBy('delay_too_long', 'invalid'),
    { input: { n: 1e300 } },
  ),
  definition(
    'a loop over a text of a megabyte',
    {
      ...chain({ id: 'l', type: 'loop', config: { sourceVariable: '{{ctx.input.big}}' } }, end(1, '{{ctx.item}}')),
      edges: [
        { source: 'start', target: 'l' },
        { source: 'l', target: 'end', sourceHandle: 'done' },
      ],
    },
    { ends: 'publish' },
    nearly,
  ),
  definition('a template of 60,000 characters of braces', chain(end(1, '{{'.repeat(30_000))), {
    ends: 'publish',
    code: 'definition_invalid',
    findings: ['template_invalid'],
  }),
  definition('a template that looks up ten thousand paths', chain(end(1, '{{ctx.a}}'.repeat(7_000))), completes),
  definition('a path of twenty thousand steps', chain(end(1, `{{ctx${'.a'.repeat(20_000)}}}`)), completes),
  definition('a path to a prototype', chain(end(1, '{{ctx.constructor.prototype}}{{ctx.__proto__}}{{ctx["toString"]}}')), {
    ends: 'completed',
    output: { o0: '' },
  }),
  definition(
    'a value that is a template',
    chain(end(1, '{{ctx.input.t}}')),
    { ends: 'completed', output: { o0: '{{ctx.input.t}}' } },
    { input: { t: '{{ctx.input.t}}' } },
  ),
  definition(
    'an input above the limit of a start',
    chain(end(1, '{{ctx.input}}')),
    { ends: 'start', code: 'payload_too_large' },
    { input: big(2) },
  ),
]);

/** Characters of three bytes each that do not compress. */
const words = (count: number, length: number, seed: number): readonly string[] => {
  let state = seed;
  const letter = (): string => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return String.fromCharCode(0x4e00 + ((state >>> 16) % 20_000));
  };
  return Array.from({ length: count }, () => Array.from({ length }, letter).join(''));
};
const signalsOf = (from: string): readonly JsonObject[] =>
  many(600, (n) => ({
    id: `w${n}`,
    type: 'signal',
    config: { name: `{{${from}.a[${n}]}}`, correlation: `{{${from}.b[${n}]}}`, expiresInSeconds: 60, onExpiry: 'continue' },
  }));
const delaysOf = (from: string): readonly JsonObject[] =>
  many(1_900, (n) => ({ id: `z${n}`, type: 'delay', config: { delayType: 'until', untilTime: `{{${from}.a[${n}]}}` } }));
const written = (count: number, length: number): string =>
  `let s = 7; const one = () => { s = (Math.imul(s, 1664525) + 1013904223) >>> 0; return String.fromCharCode(0x4e00 + (s >>> 16) % 20000) }; const list = (n) => Array.from({ length: n }, () => Array.from({ length: ${length} }, one).join('')); return { a: list(${count}), b: list(${count}) }`;

checkScenarios('texts in one commit', createRunner(), [
  definition('600 signals with long names and correlations', beside(signalsOf('ctx.input')), completes, {
    input: { a: words(600, 250, 1), b: words(600, 250, 2) },
    withinMs: 60_000,
  }),
  definition('600 signals after a script', behindScript(written(600, 250), signalsOf('ctx.jsResult')), completes, {
    withinMs: 60_000,
  }),
  definition('1,900 delays until an invalid time', beside(delaysOf('ctx.input')), failedBy('delay_invalid', 'invalid'), {
    input: { a: words(1_900, 120, 3) },
    withinMs: 60_000,
  }),
  definition(
    '1,900 delays behind a script',
    behindScript(written(1_300, 100), delaysOf('ctx.jsResult')),
    failedBy('delay_invalid', 'invalid'),
    { withinMs: 60_000 },
  ),
  definition(
    'a thousand conditions with labels that do not compress',
    beside(
      many(1_000, (n) => ({
        id: `c${n}`,
        type: 'condition',
        config: {
          branches: [
            {
              id: 'y',
              label: noise(250).slice(0, 200) + String(n),
              conditions: [{ leftValue: 1, operator: 'equals', rightValue: 1 }],
            },
          ],
        },
      })),
    ),
    completes,
    { withinMs: 60_000 },
  ),
  definition(
    'a thousand end nodes with many small outputs',
    beside(many(1_000, (n) => end(3, `{{ctx.input.a[${n}]}}`, `e${n}`))),
    completes,
    { input: { a: words(1_000, 250, 4) }, withinMs: 60_000 },
  ),
  definition(
    'forty scripts that print up to the limit and then throw',
    beside(
      many(40, (n) => ({
        id: `s${n}`,
        type: 'javascript',
        config: {
          retry: { attempts: 1 },
          code: `let s = ${n + 7}; const one = () => { s = (Math.imul(s, 1664525) + 1013904223) >>> 0; return String.fromCharCode(0x4e00 + (s >>> 16) % 20000) }; const text = (n) => Array.from({ length: n }, one).join(''); for (let i = 0; i < 100; i += 1) console.log(text(50)); throw new Error(text(2000))`,
        },
      })),
    ),
    failedBy('script_threw', 'error'),
    { withinMs: 60_000 },
  ),
]);

function behindScript(code: string, nodes: readonly JsonObject[]): JsonObject {
  return {
    name: 'hostile',
    nodes: [{ id: 'start', type: 'start' }, { id: 's', type: 'javascript', config: { code } }, ...nodes],
    edges: [{ source: 'start', target: 's' }, ...nodes.map((node) => ({ source: 's', target: node['id'] ?? '' }))],
  };
}
