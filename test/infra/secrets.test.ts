/** Only the worker knows and may read the secrets of the setting, by complete ARNs. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { grantsIn } from './statements.ts';
import { byId, ofType, storedSetting, synthesize } from './synthesized.ts';

const arn = (name: string): string => `arn:aws:secretsmanager:eu-west-1:111122223333:secret:${name}-AbCdEf`;
const secrets = {
  default: { '*': { chat: arn('chat'), user: `${arn('db')}#user` }, production: { password: `${arn('db')}#password` } },
};
const { runtime } = synthesize({ secrets });
const variables = z.object({ Variables: z.record(z.string(), z.unknown()) });
const told = (resources: typeof runtime, id: string) =>
  variables.parse(byId(resources, id).Properties['Environment']).Variables['STEPWELL_SECRETS'];

test('only the worker receives the setting, in the form that it parses', () => {
  const worker = 'StepwellFunctionsWorkerFunction';
  expect(storedSetting(runtime, 'secrets', told(runtime, worker))).toEqual(secrets);
  const { runtime: standard } = synthesize();
  expect(storedSetting(standard, 'secrets', told(standard, worker))).toEqual({});
  const all = ofType(runtime, 'Lambda::Function').filter(
    ({ Properties }) => variables.parse(Properties['Environment']).Variables['STEPWELL_SECRETS'] !== undefined,
  );
  expect(all.map(({ id }) => id.replace(/[0-9A-F]{8}$/, ''))).toEqual(['StepwellFunctionsWorkerFunction']);
});

test('only the worker may read them, by complete ARNs', () => {
  const reading = grantsIn(runtime).filter(({ Action }) => Action.join() === 'secretsmanager:GetSecretValue');
  expect(reading.map(({ role, Resource }) => [role.replace(/Role.*/, ''), Resource])).toEqual([
    ['StepwellFunctionsWorker', [arn('chat'), arn('db')]],
  ]);
});

test.each([
  ['no whole ARN', { default: { '*': { a: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:chat' } } }],
  ['a value', { default: { '*': { a: 'hunter2hunter2' } } }],
  ['a name that no template can say', { default: { '*': { 'a b': arn('chat') } } }],
  ['no environment', { default: { 'Prod!': { a: arn('chat') } } }],
])('%s is refused', (_what, setting) => {
  expect(() => parseSettings({ 'stepwell:secrets': setting })).toThrow(/secrets/);
});
