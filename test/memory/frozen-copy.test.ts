import { expect, test } from 'vitest';
import { frozenCopy } from '../../lib/memory/frozen-copy.ts';

test('a stored value is a deeply frozen copy', () => {
  const value = { list: [{ deep: 1 }], text: 'a' };
  const copy = frozenCopy(value);
  expect(copy).toEqual(value);
  expect(copy.list[0]).not.toBe(value.list[0]);
  expect([copy, copy.list, copy.list[0]].every((part) => Object.isFrozen(part))).toBe(true);
  expect(Object.isFrozen(value.list)).toBe(false);
});

test('a value that another module froze is copied, because its parts may not be frozen', () => {
  const inside = { count: 1 };
  const copy = frozenCopy(Object.freeze({ inside }));
  inside.count = 2;
  expect(copy.inside.count).toBe(1);
});

test('undefined members are omitted, and unusual keys are preserved', () => {
  expect(Object.keys(frozenCopy({ here: 1, gone: undefined }))).toEqual(['here']);
  const odd = frozenCopy(JSON.parse('{"__proto__":{"a":1}}'));
  expect(JSON.stringify(odd)).toBe('{"__proto__":{"a":1}}');
});

test('a value that is not plain data is refused', () => {
  for (const value of [new Map(), new Date(0), [new Set()]])
    expect(() => frozenCopy(value)).toThrow('only plain data can be stored');
});
