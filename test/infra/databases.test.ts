/** Only the worker knows and may access databases: those of the setting, by complete ARNs. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { grantsIn } from './statements.ts';
import { byId, ofType, storedSetting, synthesize } from './synthesized.ts';

const clusterArn = 'arn:aws:rds:eu-west-1:111122223333:cluster:orders';
const secretArn = (name: string): string => `arn:aws:secretsmanager:eu-west-1:111122223333:secret:${name}-AbCdEf`;
const orders = { clusterArn, secretArn: secretArn('orders'), database: 'orders' };
const databases = {
  default: { '*': { orders }, production: { orders: { ...orders, secretArn: secretArn('production') } } },
};
const { runtime } = synthesize({ databases });
const variables = z.object({ Variables: z.record(z.string(), z.unknown()) });
const told = (resources: typeof runtime, id: string) =>
  variables.parse(byId(resources, id).Properties['Environment']).Variables['STEPWELL_DATABASES'];
const onDatabases = (resources: typeof runtime) =>
  grantsIn(resources)
    .filter(({ Action }) => /rds-data:|^secretsmanager:GetSecretValue$/.test(Action.join()))
    .map(({ role, Action, Resource }) => [role.replace(/^StepwellFunctions|Role.*/g, ''), Action, Resource]);

test('only the worker receives the setting, in the form that it parses', () => {
  const worker = 'StepwellFunctionsWorkerFunction';
  expect(storedSetting(runtime, 'databases', told(runtime, worker))).toEqual(databases);
  const { runtime: standard } = synthesize();
  expect(storedSetting(standard, 'databases', told(standard, worker))).toEqual({});
  const all = ofType(runtime, 'Lambda::Function').filter(
    ({ Properties }) => variables.parse(Properties['Environment']).Variables['STEPWELL_DATABASES'] !== undefined,
  );
  expect(all.map(({ id }) => id.replace(/[0-9A-F]{8}$/, ''))).toEqual(['StepwellFunctionsWorkerFunction']);
});

test('only the worker may access the named clusters, with four actions, and read their secrets', () => {
  expect(onDatabases(runtime)).toEqual([
    [
      'Worker',
      ['rds-data:BeginTransaction', 'rds-data:CommitTransaction', 'rds-data:ExecuteStatement', 'rds-data:RollbackTransaction'],
      [clusterArn],
    ],
    ['Worker', ['secretsmanager:GetSecretValue'], [secretArn('orders'), secretArn('production')]],
  ]);
  expect(onDatabases(synthesize().runtime)).toEqual([]);
});

test.each([
  ['an instance', { ...orders, clusterArn: 'arn:aws:rds:eu-west-1:111122223333:db:orders' }],
  ['more than one cluster', { ...orders, clusterArn: 'arn:aws:rds:eu-west-1:111122223333:cluster:*' }],
  ['a password', { ...orders, secretArn: 'hunter2hunter2' }],
  ['no name of the database', { clusterArn, secretArn: secretArn('orders') }],
])('%s is refused', (_what, database) => {
  expect(() => parseSettings({ 'stepwell:databases': { default: { '*': { orders: database } } } })).toThrow(/databases/);
});

test('the setting can be given on the command line', () => {
  expect(parseSettings({ 'stepwell:databases': JSON.stringify(databases) }).databases).toEqual(databases);
});
