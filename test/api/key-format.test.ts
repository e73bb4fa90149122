import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newKey, parseKey } from '../../lib/api/auth.ts';
import { environment } from '../../lib/engine/ids.ts';

const bytes = (count: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: count, maxLength: count });
const made = fc
  .record({ id: bytes(10), secret: bytes(32), place: fc.constantFrom('live', 'test', 'a-1', 'x'.repeat(32)) })
  .map(({ id, secret, place }) => newKey(environment(place), (count) => (count === 10 ? id : secret)));

test('a new key parses to its own id, environment and digest', () => {
  fc.assert(
    fc.property(made, ({ text, keyId, secretHash }) => {
      expect(parseKey(text)).toMatchObject({ keyId, secretHash });
      expect(text).toMatch(/^sw_[a-z0-9-]{1,32}_[0-9A-Za-z]{14}_[0-9A-Za-z]{49}$/);
    }),
  );
});

test('the stored hash is the SHA-256 of the 43 characters of the secret', () => {
  const { text, secretHash } = newKey(environment('test'), (count) => randomBytes(count));
  const secret = text.split('_')[3]?.slice(0, 43) ?? '';
  expect(secretHash).toBe(createHash('sha256').update(secret).digest('hex'));
});

test('256 random bits are always 43 characters', () => {
  for (const fill of [0x00, 0xff]) {
    const { text } = newKey(environment('test'), (count) => new Uint8Array(count).fill(fill));
    expect(text.split('_')[3]).toHaveLength(49);
  }
});

test('a key with one changed, missing or added character is invalid', () => {
  fc.assert(
    fc.property(made, fc.nat(), fc.constantFrom('0', 'a', 'Z', '_', '-'), ({ text }, at, letter) => {
      const place = at % text.length;
      fc.pre(text[place] !== letter);
      expect(parseKey(text.slice(0, place) + letter + text.slice(place + 1))).toBeUndefined();
      expect(parseKey(text.slice(0, place) + text.slice(place + 1))).toBeUndefined();
      expect(parseKey(text.slice(0, place) + letter + text.slice(place))).toBeUndefined();
    }),
  );
});

test.each(['', 'sw', 'sw___', 'Bearer x', 'sw_test_abcdefgh_', '_'.repeat(60)])('%j is not a key', (text) => {
  expect(parseKey(text)).toBeUndefined();
});
