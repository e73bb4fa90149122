import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedTag, decodeTagged, encodeTagged } from '../../lib/world/tagged-json.ts';

const throughText = (value: unknown): unknown => decodeTagged(JSON.parse(JSON.stringify(encodeTagged(value))));

describe('tagged JSON', () => {
  it('keeps bytes and times', () => {
    const value = { input: new Uint8Array([0, 255, 10]), at: new Date('2026-11-25T00:00:00.000Z'), list: [new Uint8Array()] };
    expect(throughText(value)).toEqual(value);
  });

  it('keeps objects that look like tags', () => {
    for (const value of [{ $bytes: 'AA==' }, { $date: 'x' }, { $object: { $bytes: 1 } }, { $other: 1 }]) {
      expect(throughText(value)).toEqual(value);
    }
  });

  it('leaves plain JSON as it is', () => {
    const value = { runId: 'wrun_1', nested: [{ $a: 1, b: null }], text: '{"$bytes":""}' };
    expect(encodeTagged(value)).toEqual(value);
    expect(decodeTagged(value)).toEqual(value);
  });

  it('leaves out undefined properties, also where one of them would hide a tag', () => {
    expect(throughText({ a: undefined, b: 1 })).toEqual({ b: 1 });
    expect(throughText({ a: undefined, $bytes: 'no base64' })).toEqual({ $bytes: 'no base64' });
  });

  it('keeps a key __proto__ as an own property', () => {
    const decoded = decodeTagged(JSON.parse('{"__proto__":{"admin":true}}'));
    expect(Object.keys(Object(decoded))).toEqual(['__proto__']);
    expect(decoded).not.toHaveProperty('admin');
  });

  it.each([
    [{ a: [{ $bytes: 'not base64!' }] }, ['a', 0, '$bytes']],
    [{ $date: 'yesterday' }, ['$date']],
    [{ $date: 5 }, ['$date']],
    [{ b: { $object: [] } }, ['b', '$object']],
  ])('refuses %j and names the place', (value, path) => {
    const decode = (): unknown => decodeTagged(value);
    expect(decode).toThrow(MalformedTag);
    expect(decode).toThrow(expect.objectContaining({ path }));
  });

  it('decodes what it encoded, for any value', () => {
    const bytes = fc.uint8Array({ maxLength: 20 });
    const key = fc.oneof(fc.constantFrom('$bytes', '$date', '$object', '$', 'a'), fc.string({ maxLength: 3 }));
    const leaf = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      bytes,
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9000-01-01') }),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 3, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        expect(throughText(value)).toEqual(value);
      }),
    );
  });
});
