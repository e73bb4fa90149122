/** Values that match a schema, and hostile values. */
import fc from 'fast-check';
import type { ApiDocument, Schema } from './document.ts';

/** Hostile numbers, texts and structures. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1e308,
    Number.MAX_SAFE_INTEGER + 2,
    0.1,
    '',
    [],
    {},
    '\u0000',
    '\u001b[2J',
    '\ud7ff\u{10ffff}',
  ),
  fc.constantFrom<unknown>(
    '__proto__',
    'constructor',
    '../../etc/passwd',
    '%00',
    '{{ctx.input}}',
    "'; DROP TABLE runs; --",
    '\ufffe\uffff',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(5_000, 20_000).map((length) => 'x'.repeat(length)),
  fc
    .oneof(fc.integer({ min: 50, max: 200 }), fc.constantFrom(1_000, 3_000))
    .map((depth) => Array.from({ length: depth }).reduce<unknown>((inner) => [inner], 1)),
  // many small parts, wide and nested
  fc.constantFrom(2_000, 20_000).map((length) => Array.from({ length }, (_, at) => ({ [`k${at % 7}`]: [at] }))),
  fc.jsonValue({ maxDepth: 3 }),
);

const isOptional = fc.integer({ min: 0, max: 2 }).map((one) => one === 0);

/** A valid value of the schema. */
export const matchingValue = (document: ApiDocument, given: Schema, depth = 0): fc.Arbitrary<unknown> => {
  const schema = document.resolve(given);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => matchingValue(document, choice, depth)));
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  switch (type) {
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.integer({ min: Math.max(schema.minimum ?? -1_000, -1e9), max: Math.min(schema.maximum ?? 1_000, 1e9) });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1_000, max: schema.maximum ?? 1_000, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(matchingValue(document, schema.items ?? {}, depth + 1), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 4, (schema.minItems ?? 0) + 4),
      });
    case 'object':
      return objectOf(document, schema, depth);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
};

const textOf = ({ format, pattern, minLength = 0, maxLength = 60 }: Schema): fc.Arbitrary<string> => {
  if (format === 'date-time')
    return fc
      .date({ min: new Date('2020-01-01T00:00:00Z'), max: new Date('2035-01-01T00:00:00Z'), noInvalidDate: true })
      .map((date) => date.toISOString());
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern), { size: 'small' });
  return fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 60) });
};

const objectOf = (document: ApiDocument, { properties = {}, required = [] }: Schema, depth: number): fc.Arbitrary<unknown> => {
  const known = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, matchingValue(document, schema, depth + 1)]),
  );
  if (Object.keys(known).length === 0)
    return fc.dictionary(fc.string({ maxLength: 10 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 });
  return fc
    .tuple(fc.record(known), fc.record(Object.fromEntries(Object.keys(known).map((name) => [name, isOptional]))))
    .map(([all, kept]) =>
      Object.fromEntries(Object.entries(all).filter(([name]) => required.includes(name) || kept[name] === true)),
    );
};
