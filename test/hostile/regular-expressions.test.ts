/** Regular expressions have a budget for each node, each decision and each definition. It counts steps, not time. */
import type { JsonObject } from '../../lib/engine/json.ts';
import { beside, chain, completes, definition, failedBy, checkScenarios, refusedWith } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const matching = (id: string, patterns: readonly string[], leftValue = '{{ctx.input.text}}'): JsonObject => ({
  id,
  type: 'condition',
  config: {
    branches: Array.from({ length: Math.ceil(patterns.length / 100) }, (_, branch) => ({
      id: `b${branch}`,
      conditionLogic: 'OR',
      conditions: patterns
        .slice(branch * 100, branch * 100 + 100)
        .map((rightValue) => ({ leftValue, operator: 'matches_regex', rightValue })),
    })),
  },
});
const many = (count: number, one: (n: number) => string): readonly string[] => Array.from({ length: count }, (_, n) => one(n));
const text = { input: { text: 'ab'.repeat(50_000) } };
const slow = { ...text, withinMs: 60_000 };

checkScenarios('regular expressions', createRunner(), [
  definition(
    '500 patterns over 100,000 characters in one node',
    chain(
      matching(
        'c',
        many(500, (n) => `(a|b)+c${n}$`),
      ),
    ),
    failedBy('regex_too_costly', 'invalid'),
    slow,
  ),
  definition(
    '500 nodes of one pattern over 100,000 characters',
    beside(many(500, (n) => `n${n}`).map((id) => matching(id, ['(a|b)+c$']))),
    completes,
    slow,
  ),
  definition(
    'a hundred patterns over 100,000 characters, within the limit',
    chain(
      matching(
        'c',
        many(100, (n) => `(a|b)+c${n}$`),
      ),
    ),
    completes,
    slow,
  ),
  definition(
    'patterns from the input',
    chain(
      matching(
        'c',
        many(100, () => '{{ctx.input.pattern}}'),
      ),
    ),
    failedBy('regex_too_costly', 'invalid'),
    { input: { text: 'a'.repeat(30_000), pattern: '(a?){200}b' }, withinMs: 60_000 },
  ),
  definition('a pattern of a thousand classes', chain(matching('c', [String.raw`\p{L}`.repeat(199)])), completes, slow),
  definition('a pattern within patterns', chain(matching('c', ['((a{0,9}){0,9}){0,9}b'])), completes, slow),
  definition('a pattern whose backtracking never ends', chain(matching('c', ['(a+)+$'])), completes, {
    input: { text: `${'a'.repeat(50_000)}b` },
  }),
  definition('a text that is too long', chain(matching('c', ['a'])), completes, { input: { text: 'a'.repeat(100_001) } }),
  definition(
    '10,000 patterns to validate',
    beside(
      many(100, (n) => `n${n}`).map((id) =>
        matching(
          id,
          many(100, (n) => `${id}x${n}(a|b)+`),
        ),
      ),
    ),
    refusedWith('definition_too_large'),
  ),
  definition(
    'the same pattern ten thousand times',
    beside(
      many(100, (n) => `n${n}`).map((id) =>
        matching(
          id,
          many(100, () => '^a+$'),
        ),
      ),
    ),
    refusedWith('definition_too_large'),
    { input: { text: 'a' }, withinMs: 30_000 },
  ),
  definition(
    '60 patterns of 1,000 characters',
    chain(
      matching(
        'c',
        many(60, (n) => `${'[à-ž]'.repeat(199)}${n}`),
      ),
    ),
    refusedWith('definition_too_large'),
  ),
  definition('a look-behind', chain(matching('c', ['(?<=a)b'])), refusedWith('regex_unsupported')),
  definition('a back-reference', chain(matching('c', [String.raw`(a)\1`])), refusedWith('regex_unsupported')),
  definition('a repetition of a billion', chain(matching('c', ['a{1000000000}'])), { ends: 'publish' }),
  definition('a pattern of 1,001 characters from a template', chain(matching('c', ['{{ctx.input.pattern}}'])), completes, {
    input: { text: 'a', pattern: 'a'.repeat(1_001) },
  }),
  definition('an invalid pattern from a template', chain(matching('c', ['{{ctx.input.pattern}}'])), completes, {
    input: { text: 'a', pattern: '((((' },
  }),
  definition('a pattern that is an object', chain(matching('c', ['{{ctx.input}}'])), completes, { input: { text: 'a' } }),
]);
