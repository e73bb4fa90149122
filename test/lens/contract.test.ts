import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { durationMs } from '../../lib/engine/time.ts';
import { inputCheck, optionalBy, outputCheck } from '../../lib/lens/contract.ts';
import { contractReasons } from '../../lib/lens/check.ts';
import { envelopeOf } from '../../lib/lens/envelope.ts';
import { parseTemplate, placeholdersIn } from '../../lib/lens/placeholders.ts';
import type { FieldSchema, InputContract, LensVersion } from '../../lib/ports/lenses.ts';
import type { ModelResponse } from '../../lib/ports/models.ts';

const placeholders = (template: string) => placeholdersIn(parseTemplate(template).parts);
const errors = (contract: InputContract, inputs: JsonObject, template = '') =>
  inputCheck(contract, placeholders(template))(inputs).map(({ field, reason }) => `${field} ${reason}`);
const ofField = (field: FieldSchema, value: JsonValue) => errors({ fields: { a: field } }, { a: value });

const cases: readonly [FieldSchema, JsonValue, string | undefined][] = [
  [{ type: 'string' }, 'x', undefined],
  [{ type: 'string' }, 1, 'type_mismatch'],
  [{ type: 'number' }, '1', 'type_mismatch'],
  [{ type: 'number', min: 2 }, 1, 'below_min'],
  [{ type: 'number', max: 2 }, 3, 'above_max'],
  [{ type: 'integer' }, 1.5, 'type_mismatch'],
  [{ type: 'boolean' }, 'true', 'type_mismatch'],
  [{ type: 'string', minLength: 2 }, 'x', 'too_short'],
  [{ type: 'string', maxLength: 2 }, 'xxx', 'too_long'],
  [{ type: 'string', maxLength: 2 }, '𝄞𝄞', undefined],
  [{ type: 'string', pattern: '^a+$' }, 'b', 'pattern_mismatch'],
  [{ type: 'string', enum: ['a', 'b'] }, 'c', 'enum_mismatch'],
  [{ type: 'number', enum: ['1', '2'] }, 2, undefined],
  [{ type: 'boolean', enum: ['true'] }, false, 'enum_mismatch'],
  [{ type: 'url' }, 'https://example.com/a', undefined],
  [{ type: 'url' }, 'javascript:alert(1)', 'type_mismatch'],
  [{ type: 'json' }, '{"a":1}', undefined],
  [{ type: 'json' }, [1], undefined],
  [{ type: 'json' }, '{', 'type_mismatch'],
  [{ type: 'array', itemType: 'integer' }, [1, 2], undefined],
  [{ type: 'array' }, {}, 'type_mismatch'],
  [{ type: 'any' }, { deep: [1] }, undefined],
];

describe('an input contract', () => {
  test.each(cases)('%j over %j: %s', (field, value, reason) => {
    expect(ofField(field, value)).toEqual(reason === undefined ? [] : [`a ${reason}`]);
  });

  test('an invalid item is reported with its path', () => {
    expect(ofField({ type: 'array', itemType: 'integer' }, [1, 'x'])).toEqual(['a.1 type_mismatch']);
  });

  test('null and an empty string count as absent', () => {
    const contract = { fields: { a: { type: 'string', required: true } } } as const;
    for (const inputs of [{}, { a: null }, { a: '' }]) expect(errors(contract, inputs)).toEqual(['a missing_required']);
    expect(errors({ fields: { a: { type: 'number', min: 1 } } }, { a: '' })).toEqual([]);
  });

  test('labels are compared without case and spaces, and reported as the contract spells them', () => {
    const contract = { fields: { 'User Name': { type: 'string', maxLength: 3 } } } as const;
    expect(errors(contract, { username: 'abcd' })).toEqual(['User Name too_long']);
  });

  test('only a strict contract rejects undeclared fields', () => {
    const fields = { a: { type: 'any' } } as const;
    expect(errors({ fields }, { b: 1 })).toEqual([]);
    expect(errors({ fields, strict: true }, { b: 1 })).toEqual(['b unknown_field']);
  });

  test('each group requires one field', () => {
    const fields = { a: { type: 'any' }, b: { type: 'any' }, c: { type: 'any' } } as const;
    const contract = { fields, requireAnyOf: [['a', 'B'], ['c']] };
    expect(errors(contract, { b: 1 })).toEqual(['c missing_required']);
    expect(errors(contract, { c: 1, a: '' })).toEqual(['a|B missing_required']);
  });

  test('a typed placeholder is checked, unless the contract declares it', () => {
    expect(errors({ fields: {} }, { age: 'x' }, '[[age:integer]]')).toEqual(['age type_mismatch']);
    expect(errors({ fields: { Age: { type: 'string' } } }, { age: 'x' }, '[[age:integer]]')).toEqual([]);
    expect(inputCheck(undefined, placeholders('[[age:integer]]'))({ age: 'x' })).toHaveLength(1);
    expect(inputCheck(undefined, placeholders('[[age]]'))({ age: 'x' })).toEqual([]);
  });

  test('a JSON Schema is checked without coercion', () => {
    const jsonSchema = {
      type: 'object',
      properties: { n: { type: 'number', multipleOf: 2 } },
      required: ['n'],
      $defs: { s: { type: 'string' } },
      additionalProperties: { $ref: '#/$defs/s' },
    };
    expect(errors({ jsonSchema }, {})).toEqual(['n missing_required']);
    expect(errors({ jsonSchema }, { n: 3, other: 1 }).toSorted()).toEqual(['n schema_violation', 'other type_mismatch']);
    expect(errors({ jsonSchema }, { n: '2' })).toEqual(['n type_mismatch']);
  });

  test('a declared field that is not required is optional', () => {
    const isOptional = optionalBy({ fields: { 'A b': { type: 'any' }, c: { type: 'any', required: true } } });
    expect(['ab', 'c', 'd'].map(isOptional)).toEqual([true, false, false]);
  });

  test('patterns of different fields are independent', () => {
    const fields = { a: { type: 'string', pattern: '^a$' }, b: { type: 'string', pattern: '^b$' } } as const;
    expect(errors({ fields }, { a: 'a', b: 'b' })).toEqual([]);
    expect(errors({ fields }, { a: 'b', b: 'a' })).toEqual(['a pattern_mismatch', 'b pattern_mismatch']);
  });

  test('a catastrophic pattern takes no time', () => {
    expect(ofField({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(5_000)}!`)).toEqual(['a pattern_mismatch']);
  });
});

const answered = (more: Partial<Extract<ModelResponse, { kind: 'completed' }>>) =>
  ({ kind: 'completed', mediaType: 'text', durationMs: durationMs(1), ...more }) as const;
const out = (lens: Pick<LensVersion, 'kind' | 'output'>, more: Parameters<typeof answered>[0]) => {
  const envelope = envelopeOf(lens.kind, answered(more), { wantsData: lens.output !== undefined, metadata: {} });
  return outputCheck(lens)(envelope).map(({ field, reason }) => `${field} ${reason}`);
};

describe('an output contract', () => {
  const fields = { score: { type: 'integer', min: 0, required: true } } as const;

  test('a text must not be empty', () => {
    expect(out({ kind: 'text' }, { text: '' })).toEqual(['output invalid_envelope']);
    expect(out({ kind: 'research' }, { text: 'x' })).toEqual([]);
  });

  test('the answer must be of the kind of its lens', () => {
    expect(out({ kind: 'image' }, { text: 'x' })).toEqual(['kind enum_mismatch']);
    expect(out({ kind: 'image' }, { mediaType: 'image', url: 'https://example.com/a.png' })).toEqual([]);
    expect(out({ kind: 'music' }, { mediaType: 'audio', url: 'https://example.com/a.mp3' })).toEqual([]);
    expect(out({ kind: 'text', output: { fields: {}, artifactKind: 'json' } }, { text: '{}' })).toEqual([
      'artifactKind enum_mismatch',
    ]);
  });

  test.each([
    ['{"score":1,"more":true}', []],
    ['```json\n{"score": 1}\n```', []],
    ['{"score":-1}', ['score below_min']],
    ['{}', ['score missing_required']],
    ['I would say 7', ['data type_mismatch']],
  ])('%s', (text, expected) => {
    expect(out({ kind: 'text', output: { fields } }, { text })).toEqual(expected);
  });

  test('by a JSON Schema', () => {
    const output = { jsonSchema: { type: 'array', minItems: 1 } };
    expect(out({ kind: 'text', output }, { text: '[]' })).toEqual([' schema_violation']);
    expect(out({ kind: 'text', output }, { mediaType: 'json', data: [1] })).toEqual([]);
  });
});

test('every reason occurs in some contract', () => {
  const seen = new Set(cases.map(([, , reason]) => reason));
  for (const reason of ['missing_required', 'unknown_field', 'invalid_envelope', 'schema_violation']) seen.add(reason);
  expect([...contractReasons].filter((reason) => !seen.has(reason))).toEqual([]);
});
