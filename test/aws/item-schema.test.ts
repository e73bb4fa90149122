/** The schema of items: what it writes, and the errors of items that it cannot read. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  type Item,
  anyFlag,
  anyInstant,
  anyNumber,
  anyString,
  itemSchema,
  jsonOf,
  keyPart,
  named,
  nullable,
  optional,
  partSchema,
  stringOf,
} from '../../lib/aws/item-schema.ts';
import { runId } from '../../lib/codec/ids.ts';
import { Unreadable } from '../../lib/codec/unreadable.ts';
import { instant } from '../../lib/engine/time.ts';

const schema = itemSchema('a sample', {
  sort: keyPart('sk', z.string()),
  workflowVersion: named('wv', anyNumber),
  note: optional(anyString),
  owner: nullable(anyString),
  isTest: named('t', anyFlag),
  at: anyInstant,
  value: jsonOf(z.array(z.string())),
});
const value = { sort: 's', workflowVersion: 3, owner: null, isTest: true, at: instant(1_000), value: ['a'] };
const item: Item = { v: { N: '1' }, wv: { N: '3' }, t: { N: '1' }, at: { N: '1000' }, value: { S: '["a"]' } };
const stored = { ...item, sk: { S: 's' } };

test('an item has the stored names, no attribute for an absent value, and no part of the key', () => {
  expect(schema.encode(value)).toEqual(item);
  expect(schema.encode({ ...value, note: 'n', owner: 'o' }, instant(1_500))).toEqual({
    ...item,
    note: { S: 'n' },
    owner: { S: 'o' },
    ttl: { N: '2' },
  });
});

test('an item is read back without undefined properties', () => {
  expect(schema.decode(stored)).toStrictEqual(value);
});

test('a large JSON value is stored as bytes and read back', () => {
  const large = { ...value, value: Array.from({ length: 500 }, (_, index) => `text ${index}`) };
  const written = schema.encode(large);
  expect(written['value']).toHaveProperty('B');
  expect(schema.decode({ ...written, sk: { S: 's' } })).toEqual(large);
});

test.for<[string, Item, RegExp]>([
  ['an attribute of another type', { wv: { S: '3' } }, /a sample cannot be read[^]*at wv/],
  ['a flag that is neither 0 nor 1', { t: { N: '2' } }, /at t/],
  ['JSON of another shape', { value: { S: '[1]' } }, /at value\[0\]/],
  ['text that is not JSON', { value: { S: '[' } }, /not valid JSON[^]*at value/],
  ['bytes that are not compressed', { value: { B: new Uint8Array([1]) } }, /compressed data is not valid[^]*at value/],
  ['another format version', { v: { N: '2' } }, /the item has version 2, but this program reads only version 1/],
])('%s is refused, and the error names the attribute', ([, change, message]) => {
  expect(() => schema.decode({ ...stored, ...change })).toThrow(Unreadable);
  expect(() => schema.decode({ ...stored, ...change })).toThrow(message);
});

test('a part of an item needs no format version', () => {
  const part = partSchema('a sample', { run: named('r', stringOf(runId)) });
  expect(() => part.decode({ r: { S: '' } })).toThrow(/at r/);
  expect(partSchema('a sample', { workflowVersion: named('wv', anyNumber) }).decode({ wv: { N: '3' } })).toEqual({
    workflowVersion: 3,
  });
});
