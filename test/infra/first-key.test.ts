/** The first admin key and the configured keys: who may access them, and that no template contains them. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { actionsOn, grantsIn, written } from './statements.ts';
import { byId, emptyBundles, ofType, synthesize } from './synthesized.ts';

const secretArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:ci-key-AbCdEf';
const common = { projectId: 'default', environment: 'production', scopes: ['deploy:write'] };
const seed = { ...common, keyId: 'ciDeployKey01', sha256: 'ab'.repeat(32) };
const { data, runtime } = synthesize();
const keeper = 'StepwellFunctionsFirstKeyRole';

const customOf = (resources: typeof runtime) => {
  const [custom, ...more] = resources.filter(({ Type }) => Type === 'Custom::StepwellKeys');
  expect(more).toEqual([]);
  return z
    .looseObject({ ServiceToken: z.unknown(), SecretArn: z.unknown(), FirstKey: z.string(), SeedKeys: z.string() })
    .parse(custom?.Properties);
};

test('the secret of the first key is created without a value', () => {
  const [secret, ...more] = ofType(data, 'SecretsManager::Secret');
  expect(more).toEqual([]);
  expect(Object.keys(secret?.Properties ?? {})).toEqual(['Description', 'Tags']);
});

test('a custom resource creates the keys, and its properties contain no secret', () => {
  const custom = customOf(runtime);
  expect(written(custom.ServiceToken)).toBe(`<${byId(runtime, 'StepwellFunctionsFirstKeyFunction').id}.Arn>`);
  expect(written(custom.SecretArn)).toMatch(/^<Stepwell-Data:ExportsOutputRefStorageFirstKey/);
  expect(JSON.parse(custom.FirstKey)).toEqual({ projectId: 'default', environment: 'production' });
  expect(JSON.parse(custom.SeedKeys)).toEqual([]);
});

test('that function may give this one secret its value, put keys, note where sweeping begins, write settings, and touch no other records', () => {
  const of = (partitions: string) => ({
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [partitions] },
    Null: { 'dynamodb:LeadingKeys': 'false' },
  });
  const grants = grantsIn(runtime);
  const own = grants.filter(({ role }) => role.startsWith(keeper)).filter(({ Action }) => !Action.join().includes('logs:'));
  expect(own.map(({ Action, Resource, Condition }) => [Action, Resource, Condition])).toEqual([
    [['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'], [expect.stringContaining('ControlTable')], of('key#*')],
    [['dynamodb:PutItem', 'dynamodb:Query'], [expect.stringContaining('ControlTable')], of('keys#*')],
    [['dynamodb:GetItem', 'dynamodb:UpdateItem'], [expect.stringContaining('ControlTable')], of('sweep#*')],
    [['dynamodb:PutItem', 'dynamodb:Query', 'dynamodb:UpdateItem'], [expect.stringContaining('ControlTable')], of('setting#*')],
    [
      ['secretsmanager:GetSecretValue', 'secretsmanager:PutSecretValue'],
      [expect.stringMatching(/^<Stepwell-Data:ExportsOutputRefStorageFirstKey/)],
      {},
    ],
  ]);
  const others = grants.filter(({ role, Action }) => !role.startsWith(keeper) && Action.join().includes('secretsmanager:'));
  expect(others).toEqual([]);
});

test('a key of the account encrypts the secret, and that function may use it for that', () => {
  const { data: stored, runtime: running } = synthesize({ encryptionKey: 'own' });
  expect(ofType(stored, 'SecretsManager::Secret')[0]?.Properties).toHaveProperty('KmsKeyId');
  const using = grantsIn(running).filter(({ Condition }) => JSON.stringify(Condition).includes('secretsmanager.'));
  expect(using.map(({ role }) => role.replace(/Role.*/, ''))).toEqual(['StepwellFunctionsFirstKey']);
});

test('project, environment and limit of the first key are settings', () => {
  const firstKey = { projectId: 'acme', environment: 'staging', rateLimitPerMinute: 'none' };
  expect(JSON.parse(customOf(synthesize({ firstKey }).runtime).FirstKey)).toEqual(firstKey);
  const onTheLine = JSON.stringify(firstKey);
  expect(JSON.parse(customOf(synthesize({ firstKey: onTheLine }).runtime).FirstKey)).toEqual(firstKey);
});

test('seed keys are handed on, and the secrets that they name may be read, each by its ARN', () => {
  const seedKeys = [seed, { ...common, keyId: 'fromSecret01', secretArn }];
  const { runtime: running } = synthesize({ seedKeys });
  expect(JSON.parse(customOf(running).SeedKeys)).toEqual(seedKeys);
  expect(actionsOn(grantsIn(running), keeper, /secret:ci-key-AbCdEf$/)).toEqual(['secretsmanager:GetSecretValue']);
});

test('where the function is not built, nobody is asked', () => {
  const { runtime: running } = synthesize({}, emptyBundles(['api']));
  expect(running.filter(({ Type }) => Type === 'Custom::StepwellKeys')).toEqual([]);
});

const refusal = (settings: object): string => {
  try {
    parseSettings(Object.fromEntries(Object.entries(settings).map(([name, value]) => [`stepwell:${name}`, value])));
    return '';
  } catch (fault) {
    return String(fault);
  }
};

test.each([
  ['no digest and no secret', { ...seed, sha256: undefined }],
  ['both', { ...seed, secretArn }],
  ['a digest of another kind', { ...seed, sha256: 'ab'.repeat(20) }],
  ['a secret that is not named whole', { ...common, keyId: 'fromSecret01', secretArn: secretArn.slice(0, -7) }],
  ['a scope that there is not', { ...seed, scopes: ['everything'] }],
  ['no scope', { ...seed, scopes: [] }],
  ['a time without its offset', { ...seed, expiresAt: '2027-01-01T00:00:00' }],
])('a seed key with %s is refused', (_what, key) => {
  expect(refusal({ seedKeys: [JSON.parse(JSON.stringify(key))] })).toContain('seedKeys');
});

test('two seed keys of one id are refused', () => {
  expect(refusal({ seedKeys: [seed, seed] })).toContain('must contain each keyId once');
});

const keyText = `sw_production_ciDeployKey01_${'a1B2c3D'.repeat(7)}`;
const webhookSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
test.each([
  ['in place of a digest', { seedKeys: [{ ...seed, sha256: keyText }] }, keyText],
  ['under a name of its own', { seedKeys: [{ ...seed, key: keyText }] }, keyText],
  ['as the key itself', { seedKeys: [keyText] }, keyText],
  ['in JSON of the command line', { seedKeys: JSON.stringify([{ ...seed, sha256: keyText }]) }, keyText],
  ['in any other setting', { name: keyText }, keyText],
  ['for a webhook', { webhooks: { github: { scheme: 'github', secretArn: webhookSecret } } }, webhookSecret],
])('a secret in plain text is refused %s, and the message does not repeat it', (_where, settings, secret) => {
  const message = refusal(settings);
  expect(message).toMatch(/stepwell:(seedKeys|webhooks|name) contains a value that looks like/);
  expect(message).not.toContain(secret);
  expect(message).not.toContain(secret.slice(-12));
});
