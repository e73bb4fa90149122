import { expect, test } from 'vitest';
import { itemBytes, type WireItem } from '../../bench/item-size.ts';

test.each([
  ['text counts by its UTF-8 bytes, and so does its name', { name: { S: 'Zoë' } }, 4 + 4],
  ['an empty text has the size of its name', { a: { S: '' } }, 1],
  ['a number takes a byte for two digits and one more', { n: { N: '1234' } }, 1 + 2 + 1],
  ['an odd digit takes a byte of its own', { n: { N: '12345' } }, 1 + 3 + 1],
  ['zeros at the end of a number are free', { n: { N: '1763683200000' } }, 1 + 4 + 1],
  ['zeros around a point are free', { n: { N: '0.00120' } }, 1 + 1 + 1],
  ['zero is one byte', { n: { N: '0' } }, 1 + 1],
  ['a sign is a byte', { n: { N: '-12' } }, 1 + 1 + 1 + 1],
  ['an exponent takes no byte', { n: { N: '12E+3' } }, 1 + 1 + 1],
  ['bytes count unencoded, not as base64', { b: { B: Buffer.alloc(10).toString('base64') } }, 1 + 10],
  ['true and null are a byte each', { t: { BOOL: true }, z: { NULL: true } }, 1 + 1 + 1 + 1],
  [
    'a list has 3 bytes around it, and 1 for each element',
    { l: { L: [{ S: 'ab' }, { BOOL: false }] } },
    1 + 3 + (2 + 1) + (1 + 1),
  ],
  ['a map has 3 bytes around it, and 1 for each element', { m: { M: { k: { S: 'v' } } } }, 1 + 3 + (1 + 1 + 1)],
  ['an empty map is 3 bytes', { m: { M: {} } }, 1 + 3],
  ['no attribute takes no byte', {}, 0],
] satisfies readonly (readonly [string, WireItem, number])[])('%s', (_name, item, bytes) => {
  expect(itemBytes(item)).toBe(bytes);
});
