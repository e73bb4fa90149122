import { describe, expect, test } from 'vitest';
import { getUnits, indexUnits, queryUnits, readUnits, tableOf, writeUnits } from '../../bench/capacity.ts';
import type { WireItem } from '../../bench/item-size.ts';

const of = (bytes: number): WireItem => ({ a: { S: 'x'.repeat(bytes - 1) } });

describe('a write', () => {
  test.each([
    ['of a whole KB is one unit', [0, 1_024], 1],
    ['of a byte more is two', [0, 1_025], 2],
    ['is billed by the previous item, if that was larger', [3_000, 10], 3],
    ['of an empty item over none is one', [0, 0], 1],
  ])('%s', (_name, sizes, units) => {
    expect(writeUnits(...sizes)).toBe(units);
  });
});

describe('a read', () => {
  test.each([
    ['of 4 KB is one unit', 4_096, true, 1],
    ['of a byte more is two', 4_097, true, 2],
    ['without an item is one', 0, true, 1],
    ['costs half if it is eventually consistent', 4_097, false, 1],
  ])('%s', (_name, bytes, isStrong, units) => {
    expect(readUnits(bytes, isStrong)).toBe(units);
  });

  test('of an item is billed by its size, not by the requested attributes', () => {
    expect(getUnits({ Key: of(10), ConsistentRead: true }, { Item: of(5_000) })).toBe(2);
    expect(getUnits({ Key: of(10) }, {})).toBe(0.5);
  });

  test('of many items is rounded once, for all together', () => {
    const answer = { Items: [of(1_000), of(1_000), of(1_000)], Count: 3, ScannedCount: 3 };
    expect(queryUnits({ ConsistentRead: true }, answer)).toBe(1);
    expect(queryUnits({ ConsistentRead: true }, { ...answer, ScannedCount: 6 })).toBe(2);
    expect(queryUnits({ ConsistentRead: true }, { Items: [], Count: 0, ScannedCount: 0 })).toBe(1);
  });
});

describe('an index of keys', () => {
  const table = tableOf('T', {
    KeySchema: [{ AttributeName: 'pk' }],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'byState',
        KeySchema: [{ AttributeName: 'sp' }, { AttributeName: 'ss' }],
        Projection: { ProjectionType: 'KEYS_ONLY' },
      },
    ],
  });
  const [index] = table.indexes;
  const item = (state: Record<string, string>): WireItem =>
    Object.fromEntries(Object.entries({ pk: 'p', other: 'x'.repeat(5_000), ...state }).map(([name, S]) => [name, { S }]));
  const outside = item({ sp: 'waiting' });
  const inside = item({ sp: 'waiting', ss: '1' });

  test.each([
    ['costs nothing for an item without all of its keys', undefined, outside, 0],
    ['costs one to add an item of any size', outside, inside, 1],
    ['costs one to remove an item', inside, outside, 1],
    ['costs two to change the key', inside, item({ sp: 'failed', ss: '1' }), 2],
    ['costs nothing while the keys are unchanged', inside, item({ sp: 'waiting', ss: '1', more: 'y' }), 0],
  ])('%s', (_name, before, after, units) => {
    expect(index === undefined ? undefined : indexUnits(table, index, before, after)).toBe(units);
  });

  test('of another projection is refused rather than miscounted', () => {
    const GlobalSecondaryIndexes = [{ IndexName: 'x', KeySchema: [], Projection: { ProjectionType: 'ALL' } }];
    expect(() => tableOf('T', { KeySchema: [], GlobalSecondaryIndexes })).toThrow(/KEYS_ONLY/);
  });
});
