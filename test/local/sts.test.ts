/** AssumeRole in the embedded cloud: who may assume a role, with which permissions, and for how long. */
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, openGateway } from '../../lib/local/aws/gateway.ts';
import { type Principals, createPrincipals } from '../../lib/local/aws/principals.ts';
import { secretsManager } from '../../lib/local/aws/secrets.ts';
import { sts } from '../../lib/local/aws/sts.ts';
import { arns } from '../../lib/local/aws-environment.ts';
import { readRoles, readTrust } from '../../lib/local/policy/roles.ts';
import { createRecorder } from '../../lib/local/recorder.ts';
import { openSecretStore } from '../../lib/local/secret-store.ts';
import { allow, freshFolder, functionOf, templateOf } from './stacks.ts';

const [lent, other, own] = ['lent', 'other', 'own'].map(arns.secret);
const arnOf = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const trusting = (principal: object, resource: string | undefined, effect = 'Allow') => ({
  Type: 'AWS::IAM::Role',
  Properties: {
    AssumeRolePolicyDocument: { Statement: [{ Effect: effect, Action: 'sts:AssumeRole', Principal: principal }] },
    Policies: [{ PolicyName: 'p', PolicyDocument: { Statement: [allow('secretsmanager:GetSecretValue', resource)] } }],
  },
});
const template = templateOf({
  Authors: trusting({ AWS: arnOf('lenderRole') }, lent),
  Others: trusting({ AWS: arnOf('otherFunctionRole') }, other),
  Refusing: trusting({ AWS: arnOf('lenderRole') }, other, 'Deny'),
  OfService: trusting({ Service: 'lambda.amazonaws.com' }, other),
  ...functionOf('lender', 'a', [
    allow('sts:AssumeRole', ['Authors', 'Others', 'Refusing', 'OfService'].map(arnOf)),
    allow('secretsmanager:GetSecretValue', own),
  ]),
  ...functionOf('otherFunction', 'a', [allow('secretsmanager:GetSecretValue', own)]),
});
const roleArnOf = (id: string): string => template.all.find(({ logicalId }) => logicalId === id)?.arn ?? '';

let gateway: Gateway;
let principals: Principals;
beforeAll(async () => {
  const directory = freshFolder();
  mkdirSync(join(directory, 'state'));
  const store = openSecretStore(directory);
  for (const arn of [lent, other, own]) store.write(arn ?? '', { text: `text of ${arn}`, version: 'v'.repeat(32), createdAt: 1 });
  principals = createPrincipals(readRoles(template));
  gateway = await openGateway();
  gateway.mount({
    principals,
    recorder: createRecorder(),
    warn: () => undefined,
    services: [secretsManager(store, new Set()), sts(principals, readTrust(template))],
  });
});
afterAll(() => gateway.close());

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}
const as = (credentials: Keys) => ({ endpoint: gateway.url, region: 'us-east-1', credentials, maxAttempts: 1 });
const functionKeys = (name: string): Keys => principals.createPrincipal(name, roleArnOf(`${name}Role`));
const assume = (id: string, keys: Keys, more: object = {}) =>
  new STSClient(as(keys)).send(new AssumeRoleCommand({ RoleArn: roleArnOf(id), RoleSessionName: 'deployment-one', ...more }));
const read = async (SecretId: string | undefined, keys: Keys) =>
  (await new SecretsManagerClient(as(keys)).send(new GetSecretValueCommand({ SecretId }))).SecretString;

test('a trusted caller assumes the role for an hour, and has only the role’s permissions', async () => {
  const { Credentials: given, AssumedRoleUser } = await assume('Authors', functionKeys('lender'), { DurationSeconds: 3_600 });
  expect(AssumedRoleUser?.Arn).toMatch(/:assumed-role\/App-Authors\/deployment-one$/);
  expect(given?.Expiration?.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
  const keys = {
    accessKeyId: given?.AccessKeyId ?? '',
    secretAccessKey: given?.SecretAccessKey ?? '',
    sessionToken: given?.SessionToken ?? '',
  };
  expect(await read(lent, keys)).toBe(`text of ${lent}`);
  await expect(read(own, keys)).rejects.toMatchObject({ name: 'AccessDeniedException' });
  await expect(assume('Authors', keys)).rejects.toMatchObject({ name: 'AccessDenied' });
});

test('assuming a role needs its trust and the caller’s permission', async () => {
  for (const id of ['Others', 'Refusing', 'OfService'])
    await expect(assume(id, functionKeys('lender'))).rejects.toMatchObject({ name: 'AccessDenied' });
  await expect(assume('Others', functionKeys('otherFunction'))).rejects.toMatchObject({
    name: 'AccessDenied',
    message: expect.stringContaining('sts:AssumeRole'),
  });
});

test('an expired session is refused', async () => {
  const over = principals.createSessionPrincipal('deployment-one', roleArnOf('Authors'), new Date(Date.now() - 1));
  await expect(read(lent, { accessKeyId: over.accessKeyId, secretAccessKey: 'x' })).rejects.toMatchObject({
    name: 'UnrecognizedClientException',
  });
});

test('a session lasts at most an hour, and has a name', async () => {
  const keys = functionKeys('lender');
  await expect(assume('Authors', keys, { DurationSeconds: 3_601 })).rejects.toMatchObject({ name: 'ValidationError' });
  await expect(assume('Authors', keys, { RoleSessionName: 'a b' })).rejects.toMatchObject({ name: 'ValidationError' });
});
