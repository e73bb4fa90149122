/** The limits of docs/LIMITS.md: `scripts/limits` has their values from the code, and `generated.test.ts` compares the page. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../scripts/limits/document.ts';

/** All numbers of a value, and the lengths of its arrays. A schema that another test used may refer to itself. */
const numbersIn = (value: unknown, seen = new Set<unknown>()): readonly number[] => {
  if (typeof value === 'number') return [value];
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  return [...(Array.isArray(value) ? [value.length] : []), ...Object.values(value).flatMap((each) => numbersIn(each, seen))];
};
const units = [1, 100, 1_000, 60_000, 3_600_000, 86_400_000];

/** The numbers that a file exports, in every unit, and the product and sum of any two. */
async function amountsOf(paths: readonly string[]): Promise<ReadonlySet<number>> {
  const modules = await Promise.all(paths.map((path): Promise<object> => import(`../../${path}`)));
  const exported = modules.flatMap((module) => Object.values(module).flatMap((each) => numbersIn(each)));
  // Files that export more are checked by the plain numbers alone.
  const few = [...new Set(exported)].slice(0, 100);
  const combined = few.flatMap((one) => few.flatMap((other) => [one * other, one + other]));
  return new Set([...exported, ...combined].flatMap((amount) => units.map((unit) => amount * unit)));
}

describe.each(limits)('$name', ({ value, definedIn, atLimit, quota }) => {
  test('is exported by the files that the page names', async () => {
    const amounts = await amountsOf(definedIn);
    expect(value.quantities.filter(({ amount }) => !amounts.has(amount))).toEqual([]);
  });
  test('says what happens at it', () => {
    expect(atLimit.length).toBeGreaterThan(10);
    expect(value.quantities).not.toEqual([]);
  });
  test('a quota names a page of AWS', () => {
    expect(quota ?? 'https://docs.aws.amazon.com/').toMatch(/^https:\/\/docs\.aws\.amazon\.com\//);
  });
});

test('no limit is named twice', () => {
  const names = limits.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
