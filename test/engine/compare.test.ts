/** Comparisons agree with the obvious implementations, and report their work. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { containsText, isSameJson } from '../../lib/engine/compare.ts';

describe('containsText', () => {
  const repeating = fc.array(fc.constantFrom('a', 'b', 'aa', 'ab', 'é', '😀'), { maxLength: 200 }).map((all) => all.join(''));

  test('finds what `includes` finds, for parts of any length', () => {
    fc.assert(
      fc.property(repeating, repeating, repeating, fc.boolean(), (before, part, behind, isIn) => {
        const text = isIn ? before + part + behind : before + behind;
        expect(containsText(text, part)).toBe(text.includes(part));
      }),
    );
  });

  test('finds a part at the end, and not where the text ends within it', () => {
    const part = `${'ab'.repeat(50)}c`;
    expect(containsText(`abab${part}`, part)).toBe(true);
    expect(containsText(`abab${part.slice(0, -1)}`, part)).toBe(false);
  });
});

test('values are equal by content, and the counter receives the work', () => {
  const looks: number[] = [];
  const counter = { addComparisons: (parts: number): void => void looks.push(parts) };
  expect(isSameJson({ a: ['text'], b: 1 }, { b: 1, a: ['text'] }, counter)).toBe(true);
  // the objects and their two keys, the arrays, the texts, the numbers
  expect(looks).toEqual([1, 2, 1, 5, 1]);
  expect(isSameJson(['text'], ['other text'], counter)).toBe(false);
});
