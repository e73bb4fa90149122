import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { networkAccessOf } from '../../lib/egress/private-destinations.ts';
import { durationMs, instant } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { ChatCompletions } from '../../lib/models/chat-completions.ts';
import { ConfiguredModels } from '../../lib/models/configured-models.ts';
import { DeterministicModel } from '../../lib/models/deterministic-model.ts';
import { modelArnsNamed, modelSetting, moderationSetting, secretNamedBy, secretsNamed } from '../../lib/models/setting.ts';
import { OtherSide } from '../nodes/other-side.ts';
import { arn, callOf, keysGiven, requestOf } from './given.ts';

const clock = () => new MemoryClock(instant(0));

describe('the models of the configuration', () => {
  test('each is created once, at its first use, and its duration is measured', async () => {
    const time = clock();
    const made: string[] = [];
    const models = new ConfiguredModels(
      async () => modelSetting.parse({ default: { provider: 'deterministic' }, other: { provider: 'deterministic' } }),
      async ({ provider }) => {
        made.push(provider);
        return {
          attachmentError: (kind) => (kind === 'image' ? undefined : `no ${kind}`),
          execute: async () => {
            time.advance(durationMs(250));
            return { kind: 'completed', mediaType: 'text', text: 'x' };
          },
        };
      },
      time,
    );
    for (let count = 0; count < 3; count += 1)
      expect(await models.execute(requestOf(), callOf().call)).toMatchObject({ text: 'x', durationMs: 250 });
    expect(await models.attachmentError('default', ['image'])).toBeUndefined();
    expect(await models.attachmentError('default', ['image', 'audio', 'document'])).toBe('no audio');
    expect(await models.attachmentError('unknown', ['audio'])).toBeUndefined();
    expect(made).toEqual(['deterministic']);
  });

  test.each(['another', 'constructor', '__proto__'])('%s is not configured', async (modelId) => {
    const models = new ConfiguredModels(
      async () => modelSetting.parse({}),
      () => Promise.reject(new Error('asked')),
      clock(),
    );
    expect(await models.execute(requestOf({ modelId }), callOf().call)).toMatchObject({
      cause: 'invalid',
      code: 'model_unknown',
    });
  });
});

describe('the deterministic model', () => {
  const ask = (params: object, asked = callOf(), prompt = 'Say  hello\nto me') =>
    new DeterministicModel(clock()).execute(requestOf({ prompt, params: JSON.parse(JSON.stringify(params)) }), asked.call);

  test('repeats its prompt exactly, word by word', async () => {
    const asked = callOf();
    expect(await ask({}, asked)).toEqual({
      kind: 'completed',
      mediaType: 'text',
      text: 'Say  hello\nto me',
      tokens: { input: 4, output: 4 },
    });
    expect(asked.heard).toHaveLength(4);
    expect(asked.heard.join('')).toBe('Say  hello\nto me');
  });

  test('returns its params’ reply or media', async () => {
    expect(await ask({ reply: '{"a":1}' })).toMatchObject({ text: '{"a":1}' });
    const media = { mediaType: 'image', url: 'https://example.com/a.png', mimeType: 'image/png' };
    const answer = await ask({ media });
    expect(answer).toMatchObject(media);
    expect(answer).not.toHaveProperty('text');
  });

  test('stops on an abort', async () => {
    const asked = callOf();
    asked.stop.abort(new Error('enough'));
    await expect(ask({}, asked)).rejects.toThrow('enough');
    expect(asked.heard).toEqual([]);
  });

  test('rejects invalid params', async () => {
    expect(await ask({ delayMs: 'long' })).toMatchObject({ cause: 'invalid', code: 'params_invalid' });
  });
});

describe('the settings', () => {
  const openai = { provider: 'openai', baseUrl: 'https://api.example.com/v1', model: 'small', secretArn: arn };
  const modelArn = 'arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0';
  const bedrock = { provider: 'bedrock', modelId: 'anthropic.claude-3-haiku-20240307-v1:0', modelArns: [modelArn] };

  test('name models and secrets', () => {
    const models = modelSetting.parse({ a: openai, b: bedrock, c: { provider: 'deterministic' } });
    const { secretArn: _shared, ...keyless } = openai;
    expect(modelSetting.safeParse({ a: { ...keyless, apiKey: '{{secret:own.key}}' } }).success).toBe(true);
    expect(secretNamedBy('{{secret:own.key}}')).toBe('own.key');
    const moderation = moderationSetting.parse({
      provider: 'http',
      url: 'https://mod.example.com/check',
      secretArn: `${arn.slice(0, -6)}GhIjKl`,
    });
    expect(secretsNamed(models, moderation)).toEqual([arn, `${arn.slice(0, -6)}GhIjKl`]);
    expect(modelArnsNamed(models)).toEqual([modelArn]);
  });

  test.each([
    ['plain http', { ...openai, baseUrl: 'http://api.example.com' }],
    ['a user in the address', { ...openai, baseUrl: 'https://a:b@api.example.com' }],
    ['a key', { provider: 'openai', baseUrl: openai.baseUrl, model: 'small', apiKey: 'sk-1' }],
    ['two keys', { ...openai, secretArn: arn, apiKey: '{{secret:own}}' }],
    ['half an ARN of a secret', { ...openai, secretArn: 'models/one' }],
    ['an ARN for all models', { ...bedrock, modelArns: ['arn:aws:bedrock:*::foundation-model/*'] }],
    ['no ARN', { ...bedrock, modelArns: [] }],
    ['another provider', { provider: 'magic' }],
  ])('%s is refused', (_what, model) => {
    expect(modelSetting.safeParse({ a: model }).success).toBe(false);
  });
});

describe('a model of Ollama, as the guide has it', () => {
  const guide = readFileSync(new URL('../../docs/guides/local-development.md', import.meta.url), 'utf8');
  const json = /```json\n(?<json>\{[^`]*stepwell:models[^`]*\})\n```/.exec(guide)?.groups?.['json'] ?? '';
  const documented = z.object({ context: z.object({ 'stepwell:models': modelSetting }) }).parse(JSON.parse(json)).context[
    'stepwell:models'
  ];
  const server = new OtherSide();
  beforeAll(() => server.start());
  afterAll(() => server.stop());

  /** Asks the documented model, on the port of the test's server, with this setting of private destinations. */
  const askWith = async (privateDestinations: readonly string[]) => {
    server.seen.length = 0;
    server.answers((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] }));
    });
    const models = new ConfiguredModels(
      async () => documented,
      async (model) => {
        if (model.provider !== 'openai') throw new Error(model.provider);
        expect(new URL(model.baseUrl).host).toBe('localhost:11434');
        const baseUrl = model.baseUrl.replace('11434', String(server.port));
        return new ChatCompletions({
          baseUrl,
          model: model.model,
          keys: keysGiven().keys,
          networkAccess: networkAccessOf(privateDestinations),
        });
      },
      clock(),
    );
    return { answer: await models.execute(requestOf(), callOf().call), paths: server.seen.map(({ url }) => url) };
  };

  test('answers where private destinations allow this machine', async () => {
    expect(await askWith(['localhost'])).toMatchObject({
      answer: { kind: 'completed', text: 'Hello' },
      paths: ['/v1/chat/completions'],
    });
  });

  test.each([[[]], [['10.0.0.0/8']], [['model.internal']]])('receives no request where they allow %j', async (destinations) => {
    expect(await askWith(destinations)).toMatchObject({ answer: { code: 'address_forbidden' }, paths: [] });
  });
});
