/** Regular expressions have a budget for each node, each decision and each definition, which is counted and not timed. */
import type { JsonObject } from '../../lib/engine/json.ts';
import { beside, chain, completes, drawn, failedBy, hold, refusedWith } from './hold.ts';
import { stage } from './play.ts';

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

hold('regular expressions', stage(), [
  drawn(
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
  drawn(
    '500 nodes of one pattern over 100,000 characters',
    beside(many(500, (n) => `n${n}`).map((id) => matching(id, ['(a|b)+c$']))),
    completes,
    slow,
  ),
  drawn(
    'a hundred patterns over 100,000 characters, within the bound',
    chain(
      matching(
        'c',
        many(100, (n) => `(a|b)+c${n}$`),
      ),
    ),
    completes,
    slow,
  ),
  drawn(
    'patterns that the input brings',
    chain(
      matching(
        'c',
        many(100, () => '{{ctx.input.pattern}}'),
      ),
    ),
    failedBy('regex_too_costly', 'invalid'),
    { input: { text: 'a'.repeat(30_000), pattern: '(a?){200}b' }, withinMs: 60_000 },
  ),
  drawn('a pattern of a thousand classes', chain(matching('c', [String.raw`\p{L}`.repeat(199)])), completes, slow),
  drawn('a pattern within patterns', chain(matching('c', ['((a{0,9}){0,9}){0,9}b'])), completes, slow),
  drawn('the pattern that backtracking never ends', chain(matching('c', ['(a+)+$'])), completes, {
    input: { text: `${'a'.repeat(50_000)}b` },
  }),
  drawn('a text that is too long', chain(matching('c', ['a'])), completes, { input: { text: 'a'.repeat(100_001) } }),
  drawn(
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
  drawn(
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
  drawn(
    '60 patterns of 1,000 characters',
    chain(
      matching(
        'c',
        many(60, (n) => `${'[à-ž]'.repeat(199)}${n}`),
      ),
    ),
    refusedWith('definition_too_large'),
  ),
  drawn('a look-behind', chain(matching('c', ['(?<=a)b'])), refusedWith('regex_unsupported')),
  drawn('a back-reference', chain(matching('c', [String.raw`(a)\1`])), refusedWith('regex_unsupported')),
  drawn('a repetition of a billion', chain(matching('c', ['a{1000000000}'])), { ends: 'publish' }),
  drawn('a pattern of 1,001 characters that a template brings', chain(matching('c', ['{{ctx.input.pattern}}'])), completes, {
    input: { text: 'a', pattern: 'a'.repeat(1_001) },
  }),
  drawn('a pattern that a template brings and that is none', chain(matching('c', ['{{ctx.input.pattern}}'])), completes, {
    input: { text: 'a', pattern: '((((' },
  }),
  drawn('a pattern that is an object', chain(matching('c', ['{{ctx.input}}'])), completes, { input: { text: 'a' } }),
]);
