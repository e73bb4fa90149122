import { flattenCfnReference } from 'cdk-nag/lib/utils/flatten-cfn-reference.js';
import { expect, test } from 'vitest';
import { findingText } from '../../lib/constructs/statements.ts';

test.each<[string, unknown]>([
  ['a text', 'arn:aws:s3:::bucket/*'],
  ['a reference', { Ref: 'Bucket' }],
  ['an attribute', { 'Fn::GetAtt': ['Bucket', 'Arn'] }],
  ['a join', { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':s3:::', { 'Fn::GetAtt': ['Bucket', 'Arn'] }, '/*']] }],
  ['an export of another stack', { 'Fn::Join': ['', [{ 'Fn::ImportValue': 'Data:TableArn' }, '/index/*']] }],
  ['a selection', { 'Fn::Select': [0, ['a']] }],
])('the text of %s is that of the rules of cdk-nag', (_what, value) => {
  expect(findingText(value)).toBe(flattenCfnReference(value));
});
