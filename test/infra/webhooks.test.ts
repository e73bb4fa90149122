/** What the function that takes webhooks is told and may do. It alone answers to nobody's key. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { webhookProviders } from '../../lib/webhooks/provider.ts';
import { actionsOn, grantsIn } from './statements.ts';
import { byId, storedSetting, synthesize } from './synthesized.ts';

const secretArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:hooks/github-AbCdEf';
const common = { secretArn, projectId: 'default', environment: 'production' };
const github = { ...common, scheme: 'github', target: { workflowName: 'on-push' } };
const { runtime } = synthesize({ webhooks: { github, again: github } });
const grants = grantsIn(runtime);
const role = 'StepwellFunctionsWebhooksRole';

const told = (resources: typeof runtime) =>
  z
    .object({ Variables: z.looseObject({ STEPWELL_WEBHOOKS: z.string() }) })
    .parse(byId(resources, 'StepwellFunctionsWebhooksFunction').Properties['Environment']).Variables.STEPWELL_WEBHOOKS;

test('it is told who may send, as it will read it', () => {
  expect(webhookProviders.parse(storedSetting(runtime, 'webhooks', told(runtime)))).toEqual({ github, again: github });
  const { runtime: standard } = synthesize();
  expect(storedSetting(standard, 'webhooks', told(standard))).toEqual({});
});

test('it may read the secrets that are named, and no others', () => {
  const reading = grants.filter(({ Action }) => Action.join().includes('secretsmanager:') && Action.length === 1);
  expect(reading.map(({ role: of, Action, Resource }) => [of.replace(/Role.*/, ''), Action, Resource])).toEqual([
    ['StepwellFunctionsWebhooks', ['secretsmanager:GetSecretValue'], [secretArn]],
  ]);
  expect(actionsOn(grantsIn(synthesize().runtime), role, /./).filter((action) => action.startsWith('secretsmanager:'))).toEqual(
    [],
  );
});

test('of the control table it sees what it may start, and no keys', () => {
  const onControl = grants.filter(
    ({ role: of, Effect, Resource }) => of.startsWith(role) && Effect === 'Allow' && /ControlTable/.test(Resource.join()),
  );
  expect(onControl.length).toBeGreaterThan(2);
  const patterns = onControl.flatMap(({ Condition: { 'ForAllValues:StringLike': like, Null: present } }) => {
    expect(present).toEqual({ 'dynamodb:LeadingKeys': 'false' });
    return z.object({ 'dynamodb:LeadingKeys': z.array(z.string()) }).parse(like)['dynamodb:LeadingKeys'];
  });
  expect(patterns.toSorted()).toEqual([
    'audit#*',
    'deployments#*',
    'idempotency#*',
    'pin#*',
    'setting#webhooks',
    'signal#*',
    'workflow#*',
    'workflows#*',
  ]);
});

test('a target that is none is refused in words', () => {
  const read = () => parseSettings({ 'stepwell:webhooks': { github: { ...github, target: { signal: 'approved' } } } });
  expect(read).toThrow('must be { "workflowName": … }, { "resume": { "runIdPath": … } } or { "signal":');
});
