import { expect, test } from 'vitest';
import { evaluatePure } from '../../lib/nodes/catalogue.ts';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { instant } from '../../lib/engine/time.ts';
import { found, inputOf, planNode } from './given.ts';

const expand = (source: JsonValue | undefined, more: JsonObject = {}) =>
  evaluatePure(
    planNode('loop', { sourceVariable: '{{ctx.source}}', ...more }),
    inputOf(source === undefined ? {} : { source }),
    instant(0),
  );

test.each<[string, JsonValue | undefined, JsonValue]>([
  ['an array is its items', [1, 'two', null], [1, 'two', null]],
  ['an empty array is none', [], []],
  ['null is none', null, []],
  ['what is missing is none', undefined, []],
  ['an object is one item', { a: 1 }, [{ a: 1 }]],
  ['a text is one item', 'abc', ['abc']],
  ['a number is one item', 0, [0]],
  ['false is one item', false, [false]],
])('%s', (_name, source, items) => {
  expect(expand(source)).toMatchObject({ kind: 'expanding', items: { value: items } });
});

test('by default, items run one after the other, without a wait, and the first failure fails the loop', () => {
  expect(expand([])).toEqual({
    kind: 'expanding',
    itemVariable: 'item',
    indexVariable: 'index',
    concurrency: 1,
    delayMs: 0,
    onItemFailure: 'fail',
    items: { value: [] },
  });
});

test('more items than maxIterations are rejected', () => {
  const items = Array.from({ length: 1_001 }, () => 0);
  expect(expand(items)).toMatchObject({ kind: 'failed', failure: { cause: 'invalid', code: 'loop_too_many_items' } });
  expect(expand(items, { maxIterations: 1_001 })).toMatchObject({ kind: 'expanding' });
  expect(expand([1, 2], { maxIterations: 1 })).toMatchObject({ kind: 'failed' });
});

test('a hundred thousand items are accepted, and one more is always rejected', () => {
  const most = { maxIterations: 100_000 };
  const items = Array.from({ length: 100_001 }, (_, index) => index);
  expect(expand(items.slice(1), most)).toMatchObject({ kind: 'expanding', items: { value: items.slice(1) } });
  expect(expand(items, most)).toMatchObject({ kind: 'failed', failure: { cause: 'invalid', code: 'loop_too_many_items' } });
  const tooMany = { sourceVariable: '{{ctx.source}}', maxIterations: 100_001 };
  expect(found('loop', tooMany)).toEqual(['config_invalid /nodes/0/config/maxIterations']);
});
