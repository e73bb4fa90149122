/** The fields of a lens, the values that a person types into them, and the prompt. */
import { describe, expect, test } from 'vitest';
import { fieldsOf, promptOf, valuesOf } from '../../lib/console/lenses/lens-values.ts';

const template = 'Write about [[Product]] for [[audience!]]: [[words]].';
const placeholders = [
  { label: 'Product', optional: false },
  { label: 'audience', optional: true },
  { label: 'words', optional: false },
];
const input = { fields: { product: { type: 'string', required: true }, words: { type: 'integer' }, tone: { type: 'string' } } };

describe('fields', () => {
  test('a label of the template and one of the contract that differ by case are one field', () => {
    const fields = fieldsOf({ placeholders, input });
    expect(fields.map(({ label, type, isRequired }) => [label, type, isRequired])).toEqual([
      ['product', 'string', true],
      ['audience', undefined, false],
      ['words', 'integer', false],
      ['tone', 'string', false],
    ]);
  });

  test('a JSON schema names types and required values too', () => {
    const jsonSchema = { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'] };
    const fields = fieldsOf({ placeholders, input: { jsonSchema } });
    expect(fields.find(({ label }) => label === 'words')).toMatchObject({ type: 'integer', isRequired: true });
  });
});

describe('values', () => {
  const fields = fieldsOf({ placeholders, input });

  test('an empty field is no value, and a number is a number', () => {
    expect(valuesOf(fields, { product: 'a lamp', audience: '', words: '20' })).toEqual({ product: 'a lamp', words: 20 });
  });

  test('a text that looks like JSON stays text where a text is declared', () => {
    expect(valuesOf(fields, { product: '12', words: 'many' })).toEqual({ product: '12', words: 'many' });
  });
});

describe('the prompt', () => {
  test('has the values, and nothing for an optional label', () => {
    expect(promptOf({ template, input }, { product: 'a lamp' })).toEqual({ text: 'Write about a lamp for : .' });
  });

  test('names the labels without a value', () => {
    expect(promptOf({ template }, { audience: 'all' })).toEqual({ unbound: ['Product', 'words'] });
  });

  test('with a JSON schema, only the exclamation mark makes a label optional', () => {
    const jsonSchema = { type: 'object', properties: { words: { type: 'integer' } } };
    expect(promptOf({ template, input: { jsonSchema } }, { product: 'a lamp' })).toEqual({ unbound: ['words'] });
  });
});
