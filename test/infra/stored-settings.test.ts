/** Large settings are not environment variables: the variables of the functions stay below Lambda's limit of 4 KB. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { partitionOf } from '../../lib/contract/record-kinds.ts';
import { storedSettingNames } from '../../lib/contract/stored-settings.ts';
import { evaluate, parsePolicy } from '../../lib/local/policy/evaluate.ts';
import { grantsIn, written } from './statements.ts';
import { byId, ofType, stacksWith, storedSetting, synthesize } from './synthesized.ts';

const numbered = (count: number, of: (at: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`name-${at}`, of(at)]));
const secretArn = (name: string): string => `arn:aws:secretsmanager:eu-west-1:111122223333:secret:${name}-AbCdEf`;
const webhook = (at: number) => ({
  scheme: 'github',
  secretArn: secretArn(`hooks/github-${at}`),
  projectId: 'default',
  environment: 'production',
  target: { workflowName: 'on-push' },
});
const model = (at: number) => ({
  provider: 'openai',
  baseUrl: 'https://api.example.com/v1',
  model: `model-${at}`,
  secretArn: secretArn(`models/provider-${at}`),
});
const database = (at: number) => ({
  clusterArn: 'arn:aws:rds:eu-west-1:111122223333:cluster:orders',
  secretArn: secretArn('databases/orders'),
  database: `orders_${at}`,
});
const many = (webhooks: number, secrets: number, models: number, others = 0) => ({
  webhooks: numbered(webhooks, webhook),
  secrets: { default: { '*': numbered(secrets, (at) => secretArn(`nodes/secret-${at}`)) } },
  models: numbered(models, model),
  databases: { default: { '*': numbered(others, database) } },
  codeVariables: Object.fromEntries(Array.from({ length: others }, (_, at) => [`VARIABLE_${at}`, `value ${at}`])),
});

const variables = z.object({ Variables: z.record(z.string(), z.unknown()) });
/** Longer than any name, URL or ARN of a resource of the product. */
const deployed = (value: unknown): string => written(value).replaceAll(/<[^>]*>/g, 'x'.repeat(140));
const measured = (resources: Parameters<typeof byId>[0]) =>
  ofType(resources, 'Lambda::Function').map(({ Properties }) => {
    const told = Object.entries(variables.parse(Properties['Environment']).Variables);
    return JSON.stringify(Object.fromEntries(told.map(([name, value]) => [name, deployed(value)]))).length;
  });

test.each([
  ['13 webhooks', many(13, 0, 0)],
  ['18 secrets and 5 models', many(0, 18, 5)],
  ['200 of each', many(200, 200, 200, 200)],
])('%s fit: every function is told less than 4 KB, and no more than without them', (_what, settings) => {
  const { runtime } = synthesize(settings);
  expect(Math.max(...measured(runtime))).toBeLessThan(4_096);
  expect(measured(runtime)).toEqual(measured(synthesize().runtime));
  const told = variables.parse(byId(runtime, 'StepwellFunctionsWebhooksFunction').Properties['Environment']).Variables;
  expect(storedSetting(runtime, 'webhooks', told['STEPWELL_WEBHOOKS'])).toEqual(settings.webhooks);
});

test('200 of each fit into the policies of the roles', () => {
  const { runtime } = synthesize(many(200, 200, 200, 200));
  const size = (document: unknown): number =>
    JSON.stringify(document, (_key, value: unknown) => (isIntrinsic(value) ? deployed(value) : value)).length;
  for (const { id, Properties } of ofType(runtime, 'IAM::Policy'))
    expect(size(Properties['PolicyDocument']), id).toBeLessThan(10_240);
  const managed = ofType(runtime, 'IAM::ManagedPolicy');
  expect(managed.length).toBeGreaterThan(0);
  for (const { id, Properties } of managed) expect(size(Properties['PolicyDocument']), id).toBeLessThan(6_144);
  const byRole = Object.groupBy(managed, ({ Properties }) => JSON.stringify(Properties['Roles']));
  for (const [role, policies] of Object.entries(byRole)) expect(policies?.length, role).toBeLessThanOrEqual(10);
});
const isIntrinsic = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).length === 1 &&
  /^(Ref|Fn::)/.test(Object.keys(value)[0] ?? '');

test('a variable that is too large fails the synthesis with the function, the size and the setting to shorten', () => {
  const { app, runtime } = stacksWith();
  const { lambda } = runtime.stepwell.functions.get('worker') ?? {};
  lambda?.addEnvironment('STEPWELL_SECRETS', '"'.repeat(1_500));
  expect(() => app.synth()).toThrow(
    /variables of the function worker take \d{4} bytes as JSON; Lambda's limit is 4096. The largest is STEPWELL_SECRETS with 3021 bytes: shorten the setting secrets/,
  );
});

test('variables that the owner adds count too', () => {
  const { app, runtime } = stacksWith();
  runtime.stepwell.functions.get('first-key')?.lambda.addEnvironment('MINE', 'x'.repeat(4_000));
  expect(() => app.synth()).toThrow(
    /function first-key .* The largest is MINE with 4009 bytes: shorten it, or remove it from addEnvironment/,
  );
});

test('settings that are too large for a custom resource are refused', () => {
  const codeVariables = { A: 'x'.repeat(400_000) };
  expect(() => stacksWith({ codeVariables }).app.synth()).toThrow(
    /seedKeys, webhooks, .* codeVariables, console and triggers together may have at most 400000 bytes as JSON, but have 4\d{5}/,
  );
});

test('an unchanged setting keeps its version, and a changed one has another', () => {
  const versionOf = (settings: Readonly<Record<string, unknown>>) =>
    variables.parse(byId(synthesize(settings).runtime, 'StepwellFunctionsWebhooksFunction').Properties['Environment']).Variables[
      'STEPWELL_WEBHOOKS'
    ];
  const one = versionOf(many(1, 0, 0));
  expect(one).toMatch(/^[0-9a-f]{32}$/);
  expect(versionOf(many(1, 5, 5))).toBe(one);
  expect(versionOf(many(2, 0, 0))).not.toBe(one);
});

test('functions that read settings are changed after the resource that writes them, and no others wait for it', () => {
  const { runtime } = synthesize();
  const writer = runtime.find(({ Type }) => Type === 'Custom::StepwellKeys')?.id;
  const waiting = ofType(runtime, 'Lambda::Function').filter((fn) => [fn['DependsOn']].flat().includes(writer));
  expect(waiting.map(({ id }) => id.replace(/^StepwellFunctions|Function[0-9A-F]{8}$/g, ''))).toEqual([
    'Library',
    'Worker',
    'Code',
    'Webhooks',
  ]);
});

test('each setting is read by the functions that need it, and written by the deployment alone', () => {
  const { runtime } = synthesize();
  const grants = grantsIn(runtime);
  const table = grants.flatMap(({ Resource }) => Resource).find((arn) => /ControlTable[^/]*Arn>?[^/]*$/.test(arn)) ?? '';
  expect(table).not.toBe('');
  const roles = [...new Set(grants.map(({ role }) => role))].filter((role) => role.startsWith('StepwellFunctions'));
  const may = (role: string, action: string, pk: string): boolean => {
    const Statement = grants
      .filter((grant) => grant.role === role)
      .map(({ Effect, Action, Resource, Condition }) => ({ Effect, Action, Resource, Condition }));
    const context = { 'dynamodb:leadingkeys': [pk] };
    return evaluate(parsePolicy({ Statement }, role), { action: `dynamodb:${action}`, resource: table, context }) === 'allowed';
  };
  const short = (role: string): string => role.replace(/^StepwellFunctions|Role.*/g, '');
  for (const name of storedSettingNames) {
    const pk = partitionOf('setting', name);
    for (const action of ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem']) {
      const writers = roles.filter((role) => may(role, action, pk)).map(short);
      expect(writers, `${action} ${pk}`).toEqual(action === 'PutItem' || action === 'UpdateItem' ? ['FirstKey'] : []);
    }
  }
  const readers = Object.fromEntries(
    storedSettingNames.map((name) => [
      name,
      ['Worker', 'Code', 'Webhooks'].filter((of) =>
        roles.some((role) => short(role) === of && may(role, 'GetItem', partitionOf('setting', name))),
      ),
    ]),
  );
  expect(readers).toMatchObject({
    codeVariables: expect.arrayContaining(['Code']),
    webhooks: expect.arrayContaining(['Webhooks']),
  });
  expect(readers['secrets']).not.toContain('Code');
  expect(readers['secrets']).not.toContain('Webhooks');
});
