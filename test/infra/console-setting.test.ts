/** The setting `console`: how people sign in with an identity provider. Off by default; the function that signs people in may read it. */
import { describe, expect, test } from 'vitest';
import { consoleSetting } from '../../lib/api/schemas/console-setting.ts';
import { deployedSettings } from '../../lib/api/schemas/installation.ts';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { grantsIn } from './statements.ts';
import { byId, ofType, storedSetting, synthesize } from './synthesized.ts';

const secretArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:client-AbCdEf';
const grant = { value: 'platform', keyId: 'platformteam', scopes: ['admin'] } as const;
const oidc = { issuer: 'https://id.example.com/', clientId: 'stepwell', clientSecretArn: secretArn, grants: [grant] };
type Runtime = ReturnType<typeof synthesize>['runtime'];
const readers = (runtime: Runtime): readonly string[] =>
  grantsIn(runtime).flatMap(({ role, Action, Resource }) =>
    Action.includes('secretsmanager:GetSecretValue') && JSON.stringify(Resource).includes(secretArn) ? [role] : [],
  );
const keysOf = (runtime: Runtime): unknown =>
  runtime.find(({ Type }) => Type === 'Custom::StepwellKeys')?.Properties['SignInKeys'];

test('without it nobody signs in with a provider', () => {
  const { runtime } = synthesize();
  expect(readers(runtime)).toEqual([]);
  const version: unknown = Object(byId(runtime, 'StepwellFunctionsLibraryFunction').Properties['Environment']).Variables
    .STEPWELL_CONSOLE;
  expect(storedSetting(runtime, 'console', version)).toEqual({});
  expect(keysOf(runtime)).toBeUndefined();
});

test('the function that signs people in reads it and its secret, and a deployment registers a key for each grant', () => {
  const { runtime } = synthesize({ console: { oidc } });
  expect(readers(runtime)).toEqual([expect.stringMatching(/^StepwellFunctionsLibraryRole/)]);
  const withVersion = ofType(runtime, 'Lambda::Function').filter(({ Properties }) =>
    JSON.stringify(Properties).includes('STEPWELL_CONSOLE'),
  );
  expect(withVersion.map(({ id }) => id)).toEqual([expect.stringMatching(/^StepwellFunctionsLibraryFunction/)]);
  expect(JSON.parse(String(keysOf(runtime)))).toEqual([
    { keyId: 'platformteam', scopes: ['admin'], projectId: 'default', environment: 'production' },
  ]);
});

test('what the console shows of the settings has names and numbers, and no ARN or address', () => {
  const { runtime } = synthesize({
    console: { oidc },
    nodeConcurrency: 7,
    privateDestinations: ['10.1.2.0/24'],
    watchers: 'uncapped',
    secrets: { acme: { live: { stripe: secretArn } } },
  });
  const version: unknown = Object(byId(runtime, 'StepwellFunctionsLibraryFunction').Properties['Environment']).Variables
    .STEPWELL_DEPLOYED;
  const deployed = storedSetting(runtime, 'deployed', version);
  expect(deployedSettings.parse(deployed)).toMatchObject({
    limits: { nodeConcurrency: 7, watchers: null, requestsPerSecond: 1_000 },
    features: { console: true, privateDestinations: true, metrics: false, requireHttps: true },
    secrets: { acme: { live: ['stripe'] } },
  });
  expect(JSON.stringify(deployed)).not.toMatch(/arn:|10\.1\.2|id\.example/);
});

describe('it is refused', () => {
  const parse = (change: object) => consoleSetting.safeParse({ oidc: { ...oidc, ...change } }).success;

  test('nothing but the example is accepted as it is', () => {
    expect(parse({})).toBe(true);
    expect(parseSettings({ 'stepwell:console': JSON.stringify({ oidc }) }).console?.oidc?.claim).toBe('groups');
  });

  test.each([
    ['with an issuer over plain HTTP', { issuer: 'http://id.example.com' }],
    ['with an issuer with a user', { issuer: 'https://a@id.example.com' }],
    ['with an issuer with a query', { issuer: 'https://id.example.com?a=b' }],
    ['with a secret instead of its ARN', { clientSecretArn: 'hunter2' }],
    ['without grants', { grants: [] }],
    ['with a grant for deployed code', { grants: [{ ...grant, scopes: ['runs:read', 'world:proxy'] }] }],
    ['with a grant that could not read', { grants: [{ ...grant, scopes: ['trigger:write'] }] }],
    ['with two grants of one key', { grants: [grant, { ...grant, value: 'other' }] }],
    ['with two grants of one value', { grants: [grant, { ...grant, keyId: 'otherteam1' }] }],
    ['without openid', { scope: 'email' }],
    ['with an unknown field', { clientSecret: 'hunter2' }],
  ])('%s', (_what, change) => {
    expect(parse(change)).toBe(false);
  });

  test('with a key of the setting seedKeys, or with an issuer on the loopback address', () => {
    const seed = {
      keyId: 'platformteam',
      projectId: 'default',
      environment: 'production',
      scopes: ['admin' as const],
      sha256: 'a'.repeat(64),
    };
    expect(() => synthesize({ console: { oidc }, seedKeys: [seed] })).toThrow(/platformteam/);
    const local = { oidc: { ...oidc, issuer: 'http://127.0.0.1:4444' } };
    expect(() => synthesize({ console: local })).toThrow(/loopback/);
    expect(() => synthesize({ console: local, requireHttps: false })).not.toThrow();
  });
});
