/** Compares a fork with a plain copy: after any changes both read the same, and the base is unchanged. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LayeredMap } from '../../../lib/engine/log/layered-map.ts';

type Change = { readonly put: string; readonly value: number } | { readonly drop: string };

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ put: key, value: fc.nat() }),
  fc.record({ put: key, value: fc.nat() }),
  fc.record({ drop: key }),
);
const changes = fc.array(change, { maxLength: 20 });

const apply = (map: Pick<Map<string, number>, 'set' | 'delete'> | LayeredMap<string, number>, all: readonly Change[]): void => {
  for (const one of all) {
    if ('put' in one) map.set(one.put, one.value);
    else map.delete(one.drop);
  }
};

const read = (map: LayeredMap<string, number>) => ({
  size: map.size,
  keys: [...map.keys()].toSorted(),
  entries: [...map.entries()].toSorted(([a], [b]) => a.localeCompare(b)),
  found: ['a', 'b', 'c', 'd', 'e'].map((name) => [map.has(name), map.get(name)]),
});

const readPlain = (map: Map<string, number>) => ({
  size: map.size,
  keys: [...map.keys()].toSorted(),
  entries: [...map.entries()].toSorted(([a], [b]) => a.localeCompare(b)),
  found: ['a', 'b', 'c', 'd', 'e'].map((name) => [map.has(name), map.get(name)]),
});

test('a map of any number of layers reads like a plain map with the same changes', () => {
  fc.assert(
    fc.property(fc.array(changes, { minLength: 1, maxLength: 4 }), (layers) => {
      let layered = new LayeredMap<string, number>();
      const model = new Map<string, number>();
      for (const [index, layer] of layers.entries()) {
        if (index > 0) layered = layered.fork();
        apply(layered, layer);
        apply(model, layer);
      }
      expect(read(layered)).toEqual(readPlain(model));
    }),
    { numRuns: 500, seed: 1 },
  );
});

test('changes to a fork reach neither its base nor another fork', () => {
  fc.assert(
    fc.property(changes, changes, changes, (first, left, right) => {
      const base = new LayeredMap<string, number>();
      apply(base, first);
      const before = read(base);
      const [one, other] = [base.fork(), base.fork()];
      apply(one, left);
      expect(read(other)).toEqual(before);
      apply(other, right);
      expect(read(base)).toEqual(before);
      const model = new Map<string, number>();
      apply(model, first);
      apply(model, right);
      expect(read(other)).toEqual(readPlain(model));
    }),
    { numRuns: 500, seed: 2 },
  );
});

test('keys come in the order in which they were first set, those of a fork last', () => {
  const base = new LayeredMap<string, number>();
  for (const name of ['c', 'a', 'b']) base.set(name, 1);
  const fork = base.fork();
  for (const name of ['z', 'a', 'd']) fork.set(name, 2);
  expect([...fork.keys()]).toEqual(['c', 'a', 'b', 'z', 'd']);
});

test('all keys can be deleted during iteration', () => {
  const base = new LayeredMap<string, number>();
  for (const name of ['a', 'b', 'c']) base.set(name, 1);
  const fork = base.fork();
  fork.set('d', 1);
  for (const name of fork.keys()) fork.delete(name);
  expect(read(fork)).toEqual(readPlain(new Map()));
});
