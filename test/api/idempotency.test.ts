import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bodyHash, parseIdempotencyKey } from '../../lib/api/idempotency.ts';

test('the digest of a known body matches: RFC 8785, then SHA-256', () => {
  // printf '{"a":[1,2],"b":"\u20ac"}' | sha256sum, with the euro sign in UTF-8
  expect(bodyHash({ b: '€', a: [1, 2] })).toBe(bodyHash({ a: [1, 2], b: '€' }));
  expect(bodyHash({})).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
});

test('the order of keys and undefined values do not change the digest; everything else does', () => {
  const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => JSON.stringify(value).isWellFormed());
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), json, { maxKeys: 5 }), (body) => {
      const reordered = Object.fromEntries(Object.entries(body).toReversed());
      expect(bodyHash(reordered)).toBe(bodyHash(body));
      expect(bodyHash({ ...body, absent: undefined })).toBe(bodyHash(body));
      expect(bodyHash({ ...body, added: null })).not.toBe(bodyHash(body));
    }),
  );
  expect(bodyHash([1, 2])).not.toBe(bodyHash([2, 1]));
});

test.each([
  ['abc', 'abc'],
  ['  abc ', 'abc'],
  ['"abc"', 'abc'],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ['"open', '"open'],
  ['x'.repeat(255), 'x'.repeat(255)],
  ['x'.repeat(256), undefined],
  ['', undefined],
  ['""', undefined],
  ['é', undefined],
  ['a\tb', undefined],
])('the header %j contains the key %j', (header, key) => {
  expect(parseIdempotencyKey(header)).toBe(key);
});
