/** The role of deployed code: its permissions, who may assume it, and that it exists only with the setting. */
import { App, Stack } from 'aws-cdk-lib';
import * as s3 from 'aws-cdk-lib/aws-s3';
import { expect, test } from 'vitest';
import { Stepwell } from '../../lib/constructs/stepwell.ts';
import { addCheckedStacks } from '../../lib/stacks/checked-stacks.ts';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { grantsIn, written } from './statements.ts';
import { type Resource, byId, emptyBundles, newFolder, ofType, stacksWith, synthesize } from './synthesized.ts';

const codePermissions = [
  { actions: ['s3:GetObject', 's3:PutObject'], resources: ['arn:aws:s3:::reports/*'] },
  {
    actions: ['secretsmanager:GetSecretValue'],
    resources: ['arn:aws:secretsmanager:eu-west-1:111122223333:secret:orders-AbCdEf'],
  },
];
const roleId = 'StepwellFunctionsCodeRole';
const codeRoleIn = (runtime: readonly Resource[]) =>
  ofType(runtime, 'IAM::Role').filter(({ Properties }) =>
    JSON.stringify(Properties['AssumeRolePolicyDocument']).includes('"AWS"'),
  );

test('the role has exactly the permissions of the setting', () => {
  const { runtime } = synthesize({ codePermissions });
  const [role] = codeRoleIn(runtime);
  const granted = grantsIn(runtime).filter((grant) => grant.role === role?.id);
  expect(granted.map(({ Action, Resource: on, Condition }) => ({ actions: Action, resources: on, Condition }))).toEqual(
    codePermissions.map((permission) => ({ ...permission, Condition: {} })),
  );
});

test('only the code function may assume the role, knows its ARN and is trusted by it', () => {
  const { runtime } = synthesize({ codePermissions });
  const [role, ...others] = codeRoleIn(runtime);
  expect(others).toEqual([]);
  const lender = byId(runtime, roleId).id;
  expect(role?.Properties['AssumeRolePolicyDocument']).toMatchObject({
    Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { AWS: { 'Fn::GetAtt': [lender, 'Arn'] } } }],
  });
  const taking = grantsIn(runtime).filter(({ Action }) => Action.some((action) => action.startsWith('sts:')));
  expect(taking).toEqual([
    { role: lender, Effect: 'Allow', Action: ['sts:AssumeRole'], Resource: [`<${role?.id}.Arn>`], Condition: {} },
  ]);
  const told = ofType(runtime, 'Lambda::Function').filter(({ Properties }) =>
    JSON.stringify(Properties).includes(role?.id ?? '?'),
  );
  expect(told.map(({ id }) => id)).toEqual([byId(runtime, 'StepwellFunctionsCodeFunction').id]);
  expect(written(role?.Properties['Description'])).toMatch(/code of deployments/);
});

test('without the setting there is no role, and no permission to assume one', () => {
  const { runtime } = synthesize();
  expect(codeRoleIn(runtime)).toEqual([]);
  expect(
    grantsIn(runtime)
      .flatMap(({ Action }) => Action)
      .filter((action) => action.startsWith('sts:')),
  ).toEqual([]);
  expect(byId(runtime, 'StepwellFunctionsCodeFunction').Properties).toMatchObject({
    Environment: { Variables: { STEPWELL_CODE_ROLE_ARN: '' } },
  });
});

test('an owner’s construct can grant permissions to the role', () => {
  const app = new App({ outdir: newFolder(), builtinCloudFormationValidation: false });
  const stack = new Stack(app, 'Mine');
  const bucket = new s3.Bucket(stack, 'Reports');
  const { codeRole } = new Stepwell(stack, 'Stepwell', { functionsDirectory: emptyBundles(), codePermissions: [] });
  if (codeRole === undefined) throw new Error('there is no role');
  bucket.grantRead(codeRole);
  const policy = JSON.stringify(app.synth().getStackByName('Mine').template.Resources);
  expect(policy).toMatch(/"Action":\["s3:GetObject\*"/);
  expect(
    new Stepwell(new Stack(new App(), 'Other'), 'Stepwell', { functionsDirectory: emptyBundles() }).codeRole,
  ).toBeUndefined();
});

test('a wildcard that the owner wrote passes the cdk-nag rules', () => {
  const { app } = stacksWith({ codePermissions }, emptyBundles(), addCheckedStacks);
  expect(() => app.synth()).not.toThrow();
});

test.each([
  [{ actions: ['s3:*'], resources: ['arn:aws:s3:::reports/*'] }],
  [{ actions: ['*'], resources: ['arn:aws:s3:::reports/*'] }],
  [{ actions: ['s3:GetObject'], resources: ['*'] }],
  [{ actions: ['s3:GetObject'], resources: [] }],
  [{ actions: ['s3:GetObject'] }],
  [{ actions: ['s3:GetObject'], resources: ['arn:aws:s3:::a'], effect: 'Deny' }],
])('%j is refused', (permission) => {
  expect(() => parseSettings({ 'stepwell:codePermissions': [permission] })).toThrow(/codePermissions/);
});
