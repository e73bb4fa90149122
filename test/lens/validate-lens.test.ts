import { expect, test } from 'vitest';
import { lensName } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { validateLens, labelsOf } from '../../lib/lens/validate-lens.ts';
import type { Lens } from '../../lib/ports/lenses.ts';

const lens = (more: Partial<Lens>): Lens => ({ name: lensName('l'), kind: 'text', template: '[[a]]', ...more });
const found = (more: Partial<Lens>) => validateLens(lens(more)).map(({ code, pointer }) => `${code} ${pointer}`);
const schema = (jsonSchema: JsonObject) => found({ output: { jsonSchema } });

test('a valid lens has no findings', () => {
  expect(
    found({
      input: { fields: { a: { type: 'string', pattern: '^x', enum: ['x'] } }, requireAnyOf: [['A']], strict: true },
      output: { jsonSchema: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } } },
    }),
  ).toEqual([]);
});

test('all findings are reported together', () => {
  expect(
    found({
      template: '[[a:date]] [[b:string]] [[ B :number]]',
      input: {
        fields: {
          a: { type: 'string', pattern: '(' },
          b: { type: 'number', min: 2, max: 1 },
          ' B': { type: 'string', minLength: 2, maxLength: 1, itemType: 'string' },
        },
        requireAnyOf: [['a', 'zzz']],
      },
      output: { jsonSchema: { type: 'objekt' } },
    }),
  ).toEqual([
    'template_invalid /template',
    'template_invalid /template',
    'contract_invalid /input/fields/a/pattern',
    'contract_invalid /input/fields/b/min',
    'contract_invalid /input/fields/ B',
    'contract_invalid /input/fields/ B/minLength',
    'contract_invalid /input/fields/ B/itemType',
    'contract_invalid /input/requireAnyOf/0/1',
    'contract_invalid /output/jsonSchema',
  ]);
});

test.each<[string, JsonObject, string]>([
  ['a reference to another place', { $ref: 'https://example.com/schema' }, '/$ref'],
  ['a reference to a file', { properties: { a: { $ref: 'other.json#/a' } } }, '/properties/a/$ref'],
  ['a name of its own', { $id: 'https://example.com/me' }, '/$id'],
  ['a dynamic reference', { $dynamicRef: '#a' }, '/$dynamicRef'],
  ['an asynchronous schema', { $async: true }, '/$async'],
  ['a circle', { $ref: '#' }, ''],
  ['a longer circle', { $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }, ''],
  ['unique items without end', { type: 'array', uniqueItems: true }, '/uniqueItems'],
  ['a keyword that there is not', { type: 'string', maxLenght: 3 }, ''],
  ['a pattern that looks around', { type: 'string', pattern: '(?=a)' }, ''],
])('%s is rejected', (_what, jsonSchema, place) => {
  expect(schema(jsonSchema)).toContain(`contract_invalid /output/jsonSchema${place}`);
});

test('a schema that doubles at each level is rejected, and one that is too deep', () => {
  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [
      `d${index}`,
      index === 39 ? {} : { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
    ]),
  );
  expect(schema({ $defs: doubling, $ref: '#/$defs/d0' })).toEqual(['contract_invalid /output/jsonSchema']);
  let deep: JsonObject = {};
  for (let level = 0; level < 100; level += 1) deep = { not: deep };
  expect(schema(deep)[0]).toMatch(/^contract_invalid/);
});

test('labels are listed as the author wrote them', () => {
  expect(labelsOf('[[Topic]] {{tone!}} [ topic ]')).toEqual([
    { label: 'Topic', optional: false },
    { label: 'tone', optional: true },
  ]);
});
