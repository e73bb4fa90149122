/** The worker's models: its settings and permissions. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { modelSetting, moderationSetting } from '../../lib/models/setting.ts';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { grantsIn } from './statements.ts';
import { byId, storedSetting, synthesize } from './synthesized.ts';

const secretArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:models/one-AbCdEf';
const guardrailArn = 'arn:aws:bedrock:eu-west-1:111122223333:guardrail/abc123';
const modelArn = 'arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0';
const models = {
  default: { provider: 'bedrock', modelId: 'anthropic.claude-3-haiku-20240307-v1:0', modelArns: [modelArn] },
  again: { provider: 'bedrock', modelId: 'anthropic.claude-3-haiku-20240307-v1:0', modelArns: [modelArn] },
  small: { provider: 'openai', baseUrl: 'https://api.example.com/v1', model: 'small', secretArn },
};
const moderation = { provider: 'bedrock-guardrail', guardrailArn, version: '1' };
const { runtime } = synthesize({ models, moderation });

const told = (resources: typeof runtime, id = 'StepwellFunctionsWorkerFunction') =>
  z.object({ Variables: z.looseObject({}) }).parse(byId(resources, id).Properties['Environment']).Variables;
const onModels = (resources: typeof runtime) =>
  grantsIn(resources)
    .filter(({ Action }) => /bedrock:|secretsmanager:GetSecretValue$/.test(Action.join()) && Action.length === 1)
    .map(({ role, Action, Resource }) => [role.replace(/^StepwellFunctions|Role.*/g, ''), Action, Resource]);

test('only the worker receives the setting, in the form that it parses', () => {
  const { STEPWELL_MODELS, STEPWELL_MODERATION } = told(runtime);
  expect(modelSetting.parse(storedSetting(runtime, 'models', STEPWELL_MODELS))).toEqual(models);
  expect(moderationSetting.parse(storedSetting(runtime, 'moderation', STEPWELL_MODERATION))).toEqual(moderation);
  expect(told(runtime, 'StepwellFunctionsApiFunction')).not.toHaveProperty('STEPWELL_MODELS');
  const { runtime: standard } = synthesize();
  expect(storedSetting(standard, 'models', told(standard)['STEPWELL_MODELS'])).toEqual({});
  expect(storedSetting(standard, 'moderation', told(standard)['STEPWELL_MODERATION'])).toEqual({ provider: 'none' });
});

test('the worker may invoke only the named models, the guardrail and their secrets', () => {
  expect(onModels(runtime)).toEqual([
    ['Worker', ['secretsmanager:GetSecretValue'], [secretArn]],
    ['Worker', ['bedrock:InvokeModelWithResponseStream'], [modelArn]],
    ['Worker', ['bedrock:ApplyGuardrail'], [guardrailArn]],
  ]);
  expect(onModels(synthesize().runtime)).toEqual([]);
});

test('a key in the settings is refused, and the message does not repeat it', () => {
  const key = `sk-proj-${'a1B2'.repeat(8)}`;
  const read = () => parseSettings({ 'stepwell:models': { default: { ...models.small, model: key } } });
  expect(read).toThrow('a value that looks like the API key of a model provider');
  expect(read).not.toThrow(key);
  expect(() => parseSettings({ 'stepwell:models': models, 'stepwell:moderation': moderation })).not.toThrow();
});
