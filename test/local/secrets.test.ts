/** The secrets of the embedded cloud: their permissions and storage, and that the recorder omits their texts. */
import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openGateway } from '../../lib/local/aws/gateway.ts';
import { createPrincipals } from '../../lib/local/aws/principals.ts';
import { secretsManager } from '../../lib/local/aws/secrets.ts';
import { readRoles } from '../../lib/local/policy/roles.ts';
import { createRecorder, type RecordedCall } from '../../lib/local/recorder.ts';
import { openSecretStore } from '../../lib/local/secret-store.ts';
import { arns } from '../../lib/local/aws-environment.ts';
import { allow, freshFolder, functionOf, templateOf } from './stacks.ts';

const directory = freshFolder();
mkdirSync(join(directory, 'state'));
const template = templateOf({
  Mine: { Type: 'AWS::SecretsManager::Secret', Properties: {} },
  Named: { Type: 'AWS::SecretsManager::Secret', Properties: { Name: 'acme/named' } },
  ...functionOf('keeper', 'a', [
    allow(['secretsmanager:GetSecretValue', 'secretsmanager:PutSecretValue', 'secretsmanager:DescribeSecret'], { Ref: 'Mine' }),
    allow('secretsmanager:GetSecretValue', arns.secret('own')),
    allow('secretsmanager:GetSecretValue', { Ref: 'Named' }),
  ]),
});
const refOf = (id: string): string => template.all.find(({ logicalId }) => logicalId === id)?.ref ?? '';
const mine = refOf('Mine');
const recorded: RecordedCall[] = [];

let client: SecretsManagerClient;
let close: () => Promise<void>;
beforeAll(async () => {
  const principals = createPrincipals(readRoles(template));
  const role = template.all.find(({ logicalId }) => logicalId === 'keeperRole')?.arn ?? '';
  const credentials = principals.createPrincipal('keeper', role);
  const gateway = await openGateway();
  const recorder = createRecorder();
  recorder.listen((call) => void recorded.push(call));
  const secrets = template.of('AWS::SecretsManager::Secret').map(({ ref }) => ref);
  gateway.mount({
    principals,
    recorder,
    warn: () => undefined,
    services: [secretsManager(openSecretStore(directory), new Set(secrets))],
  });
  client = new SecretsManagerClient({
    endpoint: gateway.url,
    region: 'us-east-1',
    credentials,
    maxAttempts: 1,
  });
  close = async () => {
    client.destroy();
    await gateway.close();
  };
});
afterAll(() => close());

const get = async (SecretId: string) => (await client.send(new GetSecretValueCommand({ SecretId }))).SecretString;

test('a secret of the template has an AWS ARN, and no value until one is put', async () => {
  expect(mine).toMatch(/^arn:aws:secretsmanager:us-east-1:000000000000:secret:App-Mine-[0-9a-f]{6}$/);
  await expect(get(mine)).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
    message: expect.stringContaining('AWSCURRENT'),
  });
  await client.send(new PutSecretValueCommand({ SecretId: mine, SecretString: 'the value' }));
  expect(await get(mine)).toBe('the value');
  const described = await client.send(new DescribeSecretCommand({ SecretId: mine }));
  expect(Object.values(described.VersionIdsToStages ?? {})).toEqual([['AWSCURRENT']]);
});

test('a secret can be read by its name', async () => {
  expect(refOf('Named')).toMatch(/:secret:acme\/named-[0-9a-f]{6}$/);
  await expect(get('acme/named')).rejects.toThrow('AWSCURRENT');
});

test('it survives a restart, in a file that only its owner may read', () => {
  expect(openSecretStore(directory).read(mine)?.text).toBe('the value');
  expect(statSync(join(directory, 'state', 'secrets.json')).mode & 0o777).toBe(0o600);
});

test('a secret of the owner’s file is read at each request, by its name or its ARN', async () => {
  await expect(get(arns.secret('own'))).rejects.toThrow("can't find the specified secret");
  writeFileSync(join(directory, 'secrets.json'), JSON.stringify({ own: 'by its name' }));
  expect(await get(arns.secret('own'))).toBe('by its name');
  writeFileSync(join(directory, 'secrets.json'), JSON.stringify({ [arns.secret('own')]: 'by its ARN' }));
  expect(await get(arns.secret('own'))).toBe('by its ARN');
});

test('the same token with another value is refused', async () => {
  const put = (SecretString: string) =>
    client.send(new PutSecretValueCommand({ SecretId: mine, SecretString, ClientRequestToken: 't'.repeat(32) }));
  await put('one');
  await put('one');
  await expect(put('two')).rejects.toThrow('token');
  expect(await get(mine)).toBe('one');
});

test('a role reads and writes only the secrets that its policy names', async () => {
  const denied = { name: 'AccessDeniedException', message: expect.stringContaining('not authorized to perform') };
  await expect(get(arns.secret('theirs'))).rejects.toMatchObject(denied);
  const put = new PutSecretValueCommand({ SecretId: refOf('Named'), SecretString: 'x' });
  await expect(client.send(put)).rejects.toMatchObject(denied);
});

test('a recorded request contains no secret value', () => {
  expect(recorded.filter(({ operation }) => operation === 'PutSecretValue').length).toBeGreaterThan(1);
  expect(JSON.stringify(recorded.map(({ input }) => input))).not.toMatch(/the value|"one"|"two"/);
  expect(readFileSync(join(directory, 'state', 'secrets.json'), 'utf8')).toContain('"one"');
});
