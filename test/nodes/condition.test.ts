import { NodeWork } from '../../lib/engine/graph/work-limits.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { comparisonNames, comparisons } from '../../lib/nodes/condition/operators.ts';
import { decided, found, outputOf } from './given.ts';

const holds = (leftValue: JsonValue, operator: string, rightValue: JsonValue, context: JsonObject = {}): boolean => {
  const outcome = decided('condition', { branches: [{ id: 'yes', conditions: [{ leftValue, operator, rightValue }] }] }, context);
  return outcome.kind === 'finished' && outcome.handle === 'yes';
};

describe('an operator', () => {
  it.each<[JsonValue, string, JsonValue, boolean]>([
    [5, 'equals', 5, true],
    [5, 'equals', '5', true],
    ['5.0', 'equals', 5, true],
    [' 5 ', 'equals', 5, true],
    ['1.0', 'equals', '1', false],
    ['5a', 'equals', 5, false],
    ['', 'equals', 0, false],
    ['0x10', 'equals', 16, false],
    ['Infinity', 'equals', 1, false],
    [true, 'equals', 'true', true],
    ['false', 'equals', false, true],
    [true, 'equals', 1, false],
    [null, 'equals', null, true],
    [null, 'equals', '', false],
    [null, 'equals', 'null', false],
    ['a', 'equals', 'A', false],
    [{ a: 1, b: [2] }, 'equals', { b: [2], a: 1 }, true],
    [{ a: 1 }, 'equals', { a: '1' }, false],
    [{ a: null }, 'equals', { b: null }, false],
    [[1, 2], 'equals', [1, 2], true],
    [[1], 'equals', [1, 2], false],
    [[1], 'equals', { 0: 1 }, false],
    [5, 'not_equals', '5', false],
    [null, 'not_equals', '', true],
    ['haystack', 'contains', 'st', true],
    ['haystack', 'contains', 'needle', false],
    ['a1b', 'contains', 1, true],
    ['abc', 'contains', null, false],
    [['a', 5], 'contains', '5', true],
    [['a', { b: 1 }], 'contains', { b: 1 }, true],
    [['ab'], 'contains', 'a', false],
    [{ key: 0 }, 'contains', 'key', true],
    [{}, 'contains', 'constructor', false],
    [null, 'contains', 'a', false],
    [5, 'contains', 5, false],
    ['haystack', 'not_contains', 'needle', true],
    [null, 'not_contains', 'a', true],
    [['a'], 'not_contains', 'a', false],
    ['stepwell', 'starts_with', 'step', true],
    ['stepwell', 'starts_with', 'well', false],
    [2026, 'starts_with', 20, true],
    ['stepwell', 'ends_with', 'well', true],
    ['stepwell', 'ends_with', 'step', false],
    [10, 'greater_than', 9, true],
    ['10', 'greater_than', '9', true],
    [9, 'greater_than', 9, false],
    ['b', 'greater_than', 'a', false],
    [null, 'greater_than', -1, false],
    [true, 'greater_than', 0, false],
    ['', 'less_than', 1, false],
    [-1.5, 'less_than', '1e3', true],
    [9, 'greater_or_equal', '9', true],
    [8, 'greater_or_equal', 9, false],
    [9, 'less_or_equal', 9, true],
    [10, 'less_or_equal', 9, false],
    ['x', 'less_or_equal', 'x', false],
    [null, 'is_empty', null, true],
    ['', 'is_empty', null, true],
    [[], 'is_empty', null, true],
    [{}, 'is_empty', null, false],
    [' ', 'is_empty', null, false],
    [0, 'is_empty', null, false],
    [false, 'is_empty', null, false],
    [[0], 'is_not_empty', null, true],
    ['', 'is_not_empty', null, false],
    ['order-17', 'matches_regex', '^order-\\d+$', true],
    ['my order-17', 'matches_regex', 'order-\\d', true],
    ['order', 'matches_regex', '^order-\\d+$', false],
    ['ABC', 'matches_regex', '(?i)abc', true],
    [2026, 'matches_regex', '^20', true],
    [null, 'matches_regex', '^$', true],
  ])('%j %s %j: %s', (left, operator, right, answer) => {
    expect(holds(left, operator, right)).toBe(answer);
  });

  it('each operator has a case above', () => {
    expect(Object.keys(comparisons).toSorted()).toEqual([...comparisonNames].toSorted());
  });

  it('is total, and its negation gives the opposite', () => {
    const json = fc.jsonValue({ maxDepth: 2 }).map((value): JsonValue => JSON.parse(JSON.stringify(value)));
    fc.assert(
      fc.property(json, json, (left, right) => {
        const work = new NodeWork();
        for (const name of comparisonNames) expect(typeof comparisons[name](left, right, work)).toBe('boolean');
        expect(comparisons.equals(left, right, work)).toBe(comparisons.equals(right, left, work));
        expect(comparisons.equals(left, left, work)).toBe(true);
        expect(comparisons.not_equals(left, right, work)).toBe(!comparisons.equals(left, right, work));
        expect(comparisons.not_contains(left, right, work)).toBe(!comparisons.contains(left, right, work));
        expect(comparisons.is_not_empty(left, right, work)).toBe(!comparisons.is_empty(left, right, work));
      }),
    );
  });
});

describe('a regular expression', () => {
  it('takes linear time, where backtracking would take exponential time', () => {
    expect(holds(`${'a'.repeat(50_000)}!`, 'matches_regex', '(a+)+$')).toBe(false);
    expect(holds(`${'a'.repeat(50_000)}`, 'matches_regex', '^(a|aa)+$')).toBe(true);
  });

  it.each(['(?=a)b', '(?!a)b', '(?<=a)b', '(?<!a)b', '(a)\\1', '(?<x>a)\\k<x>'])(
    '%s is refused when it is saved',
    (rightValue) => {
      const conditions = [{ leftValue: '{{ctx.a}}', operator: 'matches_regex', rightValue }];
      expect(found('condition', { branches: [{ id: 'a', conditions }] })).toEqual([
        'regex_unsupported /nodes/0/config/branches/0/conditions/0/rightValue',
      ]);
    },
  );

  it.each<JsonValue>(['(a', '[z-a]', '*', 'a'.repeat(1_001), null, 5])('%j is not a valid pattern', (rightValue) => {
    const conditions = [{ leftValue: '{{ctx.a}}', operator: 'matches_regex', rightValue }];
    expect(found('condition', { branches: [{ id: 'a', conditions }] })).toEqual([
      'config_invalid /nodes/0/config/branches/0/conditions/0/rightValue',
    ]);
  });

  it('from the context that is invalid matches nothing', () => {
    expect(holds('a', 'matches_regex', '{{ctx.pattern}}', { pattern: '(?=a)' })).toBe(false);
    expect(holds('a', 'matches_regex', '{{ctx.pattern}}', { pattern: '[a]' })).toBe(true);
    expect(holds('a'.repeat(100_001), 'matches_regex', 'a')).toBe(false);
  });
});

describe('a condition', () => {
  const equals = (leftValue: JsonValue, rightValue: JsonValue) => ({ leftValue, operator: 'equals', rightValue });
  const choose = (branches: readonly JsonObject[], context: JsonObject = {}, more: JsonObject = {}) =>
    decided('condition', { branches, ...more }, context);

  it('takes the first branch that holds, and names it', () => {
    const branches = [
      { id: 'low', label: 'Low', conditions: [equals('{{ctx.level}}', 1)] },
      { id: 'high', label: 'High', conditions: [equals('{{ctx.level}}', 2)] },
      { id: 'also', conditions: [equals('{{ctx.level}}', 2)] },
    ];
    const outcome = choose(branches, { level: 2 });
    expect(outcome).toMatchObject({ kind: 'finished', handle: 'high' });
    expect(outputOf(outcome)).toEqual({ matched: 'high', label: 'High' });
    expect(outputOf(choose(branches.slice(2), { level: 2 }))).toEqual({ matched: 'also', label: 'also' });
  });

  it('takes the default branch if no branch holds', () => {
    const none = [{ id: 'a', conditions: [equals(1, 2)] }];
    expect(choose(none)).toMatchObject({ handle: 'default' });
    expect(choose(none, {}, { defaultBranch: 'otherwise' })).toMatchObject({
      handle: 'otherwise',
      output: { value: { matched: 'otherwise', label: 'otherwise' } },
    });
  });

  it('combines its conditions with AND by default', () => {
    const conditions = [equals(1, 1), equals(1, 2)];
    expect(choose([{ id: 'a', conditions }])).toMatchObject({ handle: 'default' });
    expect(choose([{ id: 'a', conditionLogic: 'AND', conditions }])).toMatchObject({ handle: 'default' });
    expect(choose([{ id: 'a', conditionLogic: 'OR', conditions }])).toMatchObject({ handle: 'a' });
  });

  it('resolves its values with their types', () => {
    expect(holds('{{ctx.list}}', 'is_empty', null, { list: [] })).toBe(true);
    expect(holds('{{ctx.missing}}', 'is_empty', null)).toBe(true);
    expect(holds(['{{ctx.a}}'], 'contains', '{{ctx.a}}', { a: { b: 1 } })).toBe(true);
  });

  it('accepts the older form of a comparison', () => {
    expect(
      choose([{ id: 'a', leftOperand: '{{ctx.n}}', conditionType: 'greater_than', rightOperand: 3 }], { n: 4 }),
    ).toMatchObject({
      handle: 'a',
    });
  });
});

describe('an invalid condition', () => {
  const place = '/nodes/0/config/branches';
  const one = { leftValue: 1, operator: 'equals', rightValue: 1 };
  it.each<[string, JsonValue, readonly string[]]>([
    ['no branches', [], [`config_invalid ${place}`]],
    ['a branch without an id', [{ conditions: [one] }], [`config_invalid ${place}/0/id`]],
    ['a branch without conditions', [{ id: 'a', conditions: [] }], [`config_invalid ${place}/0/conditions`]],
    ['a branch with nothing', [{ id: 'a' }], [`config_invalid ${place}/0/conditions`]],
    ['two forms in one branch', [{ id: 'a', conditions: [one], expression: 'true' }], [`config_invalid ${place}/0`]],
    [
      'an unknown operator',
      [{ id: 'a', conditions: [{ ...one, operator: 'like' }] }],
      [`config_invalid ${place}/0/conditions/0`],
    ],
    [
      'a script without text',
      [{ id: 'a', conditions: [{ operator: 'expression' }] }],
      [`config_invalid ${place}/0/conditions/0`],
    ],
    ['unknown logic', [{ id: 'a', conditionLogic: 'XOR', conditions: [one] }], [`config_invalid ${place}/0/conditionLogic`]],
    [
      'two branches of one name',
      [
        { id: 'a', conditions: [one] },
        { id: 'a', conditions: [one] },
      ],
      [`config_invalid ${place}/1/id`],
    ],
    ['a branch called as the default one', [{ id: 'default', conditions: [one] }], [`config_invalid ${place}/0/id`]],
    ['a branch called as the error handle', [{ id: 'error', conditions: [one] }], [`config_invalid ${place}/0/id`]],
    [
      'a script that does not parse',
      [{ id: 'a', conditions: [{ operator: 'expression', leftValue: 'ctx.a >' }] }],
      [`code_invalid ${place}/0/conditions/0/expression`],
    ],
    [
      'a script that is no expression',
      [{ id: 'a', expression: 'return 1' }],
      [`code_invalid ${place}/0/conditions/0/expression`],
    ],
    [
      'a script that closes its brackets',
      [{ id: 'a', expression: '1); (2' }],
      [`code_invalid ${place}/0/conditions/0/expression`],
    ],
  ])('%s', (_what, branches, findings) => {
    expect(found('condition', { branches })).toEqual(findings);
  });
});
