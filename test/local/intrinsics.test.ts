import { describe, expect, test } from 'vitest';
import { resolveValue, type TemplateScope } from '../../lib/local/template/intrinsics.ts';

const around: TemplateScope = {
  stackName: 'App',
  ref: (id) => ({ Table: 'the-table', Flag: 'true' })[id],
  attribute: (id, name) => `${id}!${name}`,
  condition: (name) => name === 'IsBig',
  exported: (name) => `export of ${name}`,
  mapping: (map, first, second) => `${map}/${first}/${second}`,
};

const cases: readonly (readonly [string, unknown, unknown])[] = [
  ['a plain value stays', { a: [1, 'x', null, true] }, { a: [1, 'x', null, true] }],
  ['Ref names a resource', { Ref: 'Table' }, 'the-table'],
  ['Ref names a pseudo parameter', { Ref: 'AWS::Region' }, 'us-east-1'],
  ['NoValue takes a property away', { a: 1, b: { Ref: 'AWS::NoValue' } }, { a: 1 }],
  ['NoValue takes a list entry away', [1, { Ref: 'AWS::NoValue' }, 2], [1, 2]],
  ['GetAtt by list', { 'Fn::GetAtt': ['Table', 'Arn'] }, 'Table!Arn'],
  ['GetAtt by text keeps a dotted attribute', { 'Fn::GetAtt': 'Table.Outputs.Name' }, 'Table!Outputs.Name'],
  ['Join', { 'Fn::Join': ['-', ['a', { Ref: 'Table' }, 3]] }, 'a-the-table-3'],
  [
    'Sub with resources, attributes and pseudo parameters',
    { 'Fn::Sub': '${Table}:${Table.Arn}:${AWS::AccountId}' },
    'the-table:Table!Arn:000000000000',
  ],
  ['Sub with its own variables', { 'Fn::Sub': ['${x}/${Table}', { x: { Ref: 'AWS::Partition' } }] }, 'aws/the-table'],
  ['Sub leaves ${!Literal}', { 'Fn::Sub': '${!Table}' }, '${Table}'],
  ['Select and Split', { 'Fn::Select': [1, { 'Fn::Split': [':', 'a:b:c'] }] }, 'b'],
  ['ImportValue', { 'Fn::ImportValue': 'Data:Name' }, 'export of Data:Name'],
  ['FindInMap', { 'Fn::FindInMap': ['M', { Ref: 'Table' }, 'k'] }, 'M/the-table/k'],
  ['Base64', { 'Fn::Base64': 'hi' }, 'aGk='],
  ['If takes the branch that holds', { 'Fn::If': ['IsBig', 'yes', 'no'] }, 'yes'],
  ['If takes the other', { 'Fn::If': ['IsSmall', 'yes', { Ref: 'AWS::NoValue' }] }, undefined],
  ['Equals, And, Or, Not', { 'Fn::And': [{ 'Fn::Equals': ['a', 'a'] }, { 'Fn::Not': [{ 'Fn::Or': [false, false] }] }] }, true],
  [
    'a condition of a policy is no intrinsic',
    { Condition: { StringEquals: { k: { Ref: 'Table' } } } },
    { Condition: { StringEquals: { k: 'the-table' } } },
  ],
];

describe('intrinsics', () => {
  test.each(cases)('%s', (_name, value, expected) => {
    expect(resolveValue(value, around)).toEqual(expected);
  });

  test('an unknown intrinsic is named', () => {
    expect(() => resolveValue({ a: { 'Fn::Cidr': ['x', 1] } }, around)).toThrow('Fn::Cidr');
  });

  test('a reference to nothing is named', () => {
    expect(() => resolveValue({ Ref: 'Missing' }, around)).toThrow("'Missing'");
  });
});
