import { expect, test } from 'vitest';
import { validateInput } from '../../lib/engine/graph/validate-input.ts';
import type { ArgumentDeclaration } from '../../lib/engine/graph/definition.ts';

const declared: readonly ArgumentDeclaration[] = [
  { name: 'to', type: 'string', required: true },
  { name: 'copies', type: 'number', required: false, default: 1 },
  { name: 'tags', type: 'array', required: true, default: [] },
  { name: 'extra', type: 'object', required: false },
];

test('without declarations any input is accepted', () => {
  expect(validateInput(undefined, [1])).toEqual({ kind: 'accepted', input: [1] });
  expect(validateInput(undefined, undefined)).toEqual({ kind: 'accepted', input: {} });
});

test('defaults fill missing arguments, and never replace given ones', () => {
  expect(validateInput(declared, { to: 'x' })).toEqual({ kind: 'accepted', input: { to: 'x', copies: 1, tags: [] } });
  expect(validateInput(declared, { to: 'x', copies: 4 })).toMatchObject({ input: { copies: 4 } });
});

test('all errors are reported together, each with its pointer', () => {
  expect(validateInput(declared, { copies: 'many', extra: [], 'a/b': 1 })).toMatchObject({
    kind: 'refused',
    errors: [
      { pointer: '/input/to', code: 'argument_missing' },
      { pointer: '/input/copies', code: 'argument_type' },
      { pointer: '/input/extra', code: 'argument_type' },
      { pointer: '/input/a~1b', code: 'argument_unknown' },
    ],
  });
});

test('an input that is not an object is rejected if arguments are declared', () => {
  expect(validateInput(declared, 'text')).toMatchObject({ kind: 'refused', errors: [{ pointer: '/input', code: 'input_type' }] });
});

test('property names of every object are not arguments', () => {
  const named: readonly ArgumentDeclaration[] = [{ name: 'constructor', type: 'string', required: true }];
  expect(validateInput(named, {})).toMatchObject({ errors: [{ code: 'argument_missing' }] });
});
