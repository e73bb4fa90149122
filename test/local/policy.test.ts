import { describe, expect, test } from 'vitest';
import { defined } from '../../lib/base/defined.ts';
import { type AccessDecision, createEvaluator, parsePolicy } from '../../lib/local/policy/evaluate.ts';
import { readRoles } from '../../lib/local/policy/roles.ts';
import { templateOf } from './stacks.ts';

const runs = 'arn:aws:dynamodb:us-east-1:000000000000:table/Runs';
const passed = { 'iam:passedtoservice': ['scheduler.amazonaws.com'] };
const ifPassed = { Condition: { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } } };

interface Case {
  readonly name: string;
  readonly statements: readonly object[];
  readonly action: string;
  readonly resource: string;
  readonly context?: Readonly<Record<string, readonly string[]>>;
  readonly verdict: AccessDecision;
}

const grant = (Action: unknown, Resource: unknown, more: object = {}) => ({ Effect: 'Allow', Action, Resource, ...more });

const cases: readonly Case[] = [
  { name: 'nothing allows', statements: [], action: 'dynamodb:GetItem', resource: runs, verdict: 'implicit_deny' },
  {
    name: 'the exact action on the exact table',
    statements: [grant('dynamodb:GetItem', runs)],
    action: 'dynamodb:GetItem',
    resource: runs,
    verdict: 'allowed',
  },
  {
    name: 'another action',
    statements: [grant('dynamodb:GetItem', runs)],
    action: 'dynamodb:PutItem',
    resource: runs,
    verdict: 'implicit_deny',
  },
  {
    name: 'another table',
    statements: [grant('dynamodb:GetItem', runs)],
    action: 'dynamodb:GetItem',
    resource: `${runs}2`,
    verdict: 'implicit_deny',
  },
  {
    name: 'a table does not grant its index',
    statements: [grant('dynamodb:Query', runs)],
    action: 'dynamodb:Query',
    resource: `${runs}/index/byProject`,
    verdict: 'implicit_deny',
  },
  {
    name: 'a wildcard in the resource',
    statements: [grant('dynamodb:Query', `${runs}/index/*`)],
    action: 'dynamodb:Query',
    resource: `${runs}/index/byProject`,
    verdict: 'allowed',
  },
  {
    name: 'one character',
    statements: [grant('dynamodb:Query', `${runs}/index/b?Project`)],
    action: 'dynamodb:Query',
    resource: `${runs}/index/byProject`,
    verdict: 'allowed',
  },
  {
    name: 'a dot is a dot',
    statements: [grant('s3:GetObject', 'arn:aws:s3:::a.b/*')],
    action: 's3:GetObject',
    resource: 'arn:aws:s3:::axb/k',
    verdict: 'implicit_deny',
  },
  {
    name: 'actions ignore case',
    statements: [grant('DynamoDB:getitem', runs)],
    action: 'dynamodb:GetItem',
    resource: runs,
    verdict: 'allowed',
  },
  {
    name: 'resources do not',
    statements: [grant('dynamodb:GetItem', runs.toUpperCase())],
    action: 'dynamodb:GetItem',
    resource: runs,
    verdict: 'implicit_deny',
  },
  {
    name: 'a wildcard in the action',
    statements: [grant('dynamodb:*Item', '*')],
    action: 'dynamodb:PutItem',
    resource: runs,
    verdict: 'allowed',
  },
  {
    name: 'deny wins in any order',
    statements: [{ Effect: 'Deny', Action: 'dynamodb:*', Resource: '*' }, grant('*', '*')],
    action: 'dynamodb:GetItem',
    resource: runs,
    verdict: 'explicit_deny',
  },
  {
    name: 'NotAction',
    statements: [{ Effect: 'Allow', NotAction: 'iam:*', Resource: '*' }],
    action: 'iam:PassRole',
    resource: 'r',
    verdict: 'implicit_deny',
  },
  {
    name: 'NotResource',
    statements: [{ Effect: 'Allow', Action: '*', NotResource: runs }],
    action: 'dynamodb:GetItem',
    resource: `${runs}2`,
    verdict: 'allowed',
  },
  {
    name: 'a condition that matches',
    statements: [grant('iam:PassRole', 'r', ifPassed)],
    action: 'iam:PassRole',
    resource: 'r',
    context: passed,
    verdict: 'allowed',
  },
  {
    name: 'a condition with another value',
    statements: [grant('iam:PassRole', 'r', ifPassed)],
    action: 'iam:PassRole',
    resource: 'r',
    context: { 'iam:passedtoservice': ['lambda.amazonaws.com'] },
    verdict: 'implicit_deny',
  },
  {
    name: 'a condition on an unknown key',
    statements: [grant('iam:PassRole', 'r', ifPassed)],
    action: 'iam:PassRole',
    resource: 'r',
    verdict: 'implicit_deny',
  },
  {
    name: 'IfExists on an unknown key',
    statements: [grant('a:B', 'r', { Condition: { StringEqualsIfExists: { k: 'v' } } })],
    action: 'a:B',
    resource: 'r',
    verdict: 'allowed',
  },
  {
    name: 'StringLike',
    statements: [grant('a:B', 'r', { Condition: { StringLike: { k: ['x*', 'y*'] } } })],
    action: 'a:B',
    resource: 'r',
    context: { k: ['yes'] },
    verdict: 'allowed',
  },
  {
    name: 'StringNotEquals',
    statements: [grant('a:B', 'r', { Condition: { StringNotEquals: { k: ['x', 'y'] } } })],
    action: 'a:B',
    resource: 'r',
    context: { k: ['x'] },
    verdict: 'implicit_deny',
  },
  {
    name: 'ForAllValues with one unlisted value',
    statements: [grant('a:B', 'r', { Condition: { 'ForAllValues:StringEquals': { k: ['p', 'q'] } } })],
    action: 'a:B',
    resource: 'r',
    context: { k: ['p', 'z'] },
    verdict: 'implicit_deny',
  },
  {
    name: 'ForAnyValue with one listed value',
    statements: [grant('a:B', 'r', { Condition: { 'ForAnyValue:StringEquals': { k: ['p'] } } })],
    action: 'a:B',
    resource: 'r',
    context: { k: ['p', 'z'] },
    verdict: 'allowed',
  },
  {
    name: 'Null on what is missing',
    statements: [grant('a:B', 'r', { Condition: { Null: { k: 'true' } } })],
    action: 'a:B',
    resource: 'r',
    verdict: 'allowed',
  },
];

describe('identity policies', () => {
  test.each(cases)('$name: $verdict', ({ statements, action, resource, context, verdict }) => {
    const parsed = parsePolicy({ Statement: statements }, 'a test');
    const evaluate = createEvaluator(parsed);
    const permission = defined({ action, resource, context });
    expect(evaluate(permission)).toBe(verdict);
    // The second time, the matching statements are remembered.
    expect(evaluate(permission)).toBe(verdict);
  });

  test('one role is asked about many requests: each verdict is about its own action, resource and context', () => {
    const ifMine = { Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['mine#*'] } } };
    const statements = [
      grant('dynamodb:GetItem', runs, ifMine),
      grant('s3:GetObject', 'arn:aws:s3:::files/open/*'),
      { Effect: 'Deny', Action: 's3:*', Resource: 'arn:aws:s3:::files/open/secret' },
    ];
    const evaluate = createEvaluator(parsePolicy({ Statement: statements }, 'a test'));
    const keyed = (key: string) => ({ action: 'dynamodb:GetItem', resource: runs, context: { 'dynamodb:leadingkeys': [key] } });
    const object = (name: string) => ({ action: 's3:GetObject', resource: `arn:aws:s3:::files/${name}` });
    for (let round = 0; round < 2; round += 1) {
      expect(evaluate(keyed('mine#1'))).toBe('allowed');
      expect(evaluate(keyed('yours#1'))).toBe('implicit_deny');
      expect(evaluate({ ...keyed('mine#1'), action: 'dynamodb:PutItem' })).toBe('implicit_deny');
      for (let number = 0; number < 1_500; number += 1) expect(evaluate(object(`open/${number}`))).toBe('allowed');
      expect(evaluate(object('open/secret'))).toBe('explicit_deny');
      expect(evaluate(object('closed'))).toBe('implicit_deny');
    }
  });

  test('an unknown operator is named in the error', () => {
    const statement = grant('*', '*', { Condition: { DateGreaterThan: { 'aws:CurrentTime': 'x' } } });
    expect(() => parsePolicy({ Statement: statement }, 'TheRole')).toThrow('TheRole: the condition operator DateGreaterThan');
  });
});

describe('roles', () => {
  const role = (more: object = {}) => ({ Type: 'AWS::IAM::Role', Properties: { RoleName: 'r', ...more } });
  const document = { Statement: [grant('a:B', '*')] };
  const arn = 'arn:aws:iam::000000000000:role/r';

  test('contain inline, attached and managed statements', () => {
    const template = templateOf({
      R: role({ Policies: [{ PolicyName: 'p', PolicyDocument: document }], ManagedPolicyArns: [{ Ref: 'M' }] }),
      P: { Type: 'AWS::IAM::Policy', Properties: { Roles: [{ Ref: 'R' }], PolicyDocument: document } },
      M: { Type: 'AWS::IAM::ManagedPolicy', Properties: { PolicyDocument: document } },
    });
    expect(readRoles(template).get(arn)).toHaveLength(3);
  });

  test('refuse an unknown managed policy of AWS', () => {
    const template = templateOf({ R: role({ ManagedPolicyArns: ['arn:aws:iam::aws:policy/AdministratorAccess'] }) });
    expect(() => readRoles(template)).toThrow('AdministratorAccess');
  });
});
