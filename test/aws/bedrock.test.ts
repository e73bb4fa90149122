/** Bedrock models and guardrails: the SDK's client with a fake server. */
import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BedrockGuardrail, BedrockModel } from '../../lib/aws/bedrock.ts';
import { callOf, requestOf } from '../models/given.ts';
import { Bedrock, event, exception } from './event-stream.ts';

const bedrock = new Bedrock();
let client: BedrockRuntimeClient;
beforeAll(async () => {
  await bedrock.start();
  client = new BedrockRuntimeClient({
    endpoint: bedrock.endpoint,
    region: 'eu-west-1',
    maxAttempts: 1,
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' },
  });
});
afterAll(async () => {
  client.destroy();
  await bedrock.stop();
});

const modelId = 'anthropic.claude-3-haiku-20240307-v1:0';
const model = () => new BedrockModel(client, modelId);
const delta = (text: string) => event('contentBlockDelta', { contentBlockIndex: 0, delta: { text } });
const stop = event('messageStop', { stopReason: 'end_turn' });
const usage = event('metadata', { usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9 }, metrics: { latencyMs: 5 } });

describe('a response', () => {
  test('is streamed and returned with its tokens', async () => {
    bedrock.streams(event('messageStart', { role: 'assistant' }), delta('Grüße '), delta('☎'), stop, usage);
    const { heard, call } = callOf();
    expect(await model().execute(requestOf(), call)).toEqual({
      kind: 'completed',
      mediaType: 'text',
      text: 'Grüße ☎',
      tokens: { input: 7, output: 2 },
      metadata: { finishReason: 'end_turn' },
    });
    expect(heard).toEqual(['Grüße ', '☎']);
  });

  test('comes from a signed Converse request that names the attempt', async () => {
    bedrock.streams(delta('x'), stop);
    const params = { maxTokens: 9, temperature: 0.5, topP: 0.1, stopSequences: ['x'], top_k: 4 };
    await model().execute(requestOf({ params }), { ...callOf().call, idempotencyToken: 'wrun_1/node@loop[3]/2' });
    const [request] = bedrock.requests;
    expect(request?.path).toBe(`/model/${encodeURIComponent(modelId)}/converse-stream`);
    expect(request?.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-west-1\/bedrock\//);
    expect(JSON.parse(request?.body ?? '')).toEqual({
      messages: [{ role: 'user', content: [{ text: 'Say hello' }] }],
      inferenceConfig: { maxTokens: 9, temperature: 0.5, topP: 0.1, stopSequences: ['x'] },
      additionalModelRequestFields: { top_k: 4 },
      requestMetadata: { attempt: 'wrun_1/node@loop-3-/2' },
    });
  });
});

describe('errors', () => {
  test.each([
    [429, 'ThrottlingException', 'rate_limit', 'provider_rate_limit'],
    [400, 'ValidationException', 'invalid', 'provider_refused'],
    [403, 'AccessDeniedException', 'invalid', 'provider_refused'],
    [404, 'ResourceNotFoundException', 'invalid', 'provider_refused'],
    [500, 'InternalServerException', 'provider_error', 'provider_error'],
    [503, 'ServiceUnavailableException', 'provider_error', 'provider_error'],
    [424, 'ModelErrorException', 'provider_error', 'provider_error'],
  ])('%i %s is %s', async (status, type, cause, code) => {
    bedrock.refuses(status, type, 'no');
    expect(await model().execute(requestOf(), callOf().call)).toMatchObject({ kind: 'failed', cause, code });
    expect(bedrock.requests).toHaveLength(1);
  });

  test.each([
    ['throttlingException', 'rate_limit'],
    ['modelStreamErrorException', 'provider_error'],
    ['validationException', 'invalid'],
  ])('%s in the stream is %s', async (type, cause) => {
    bedrock.streams(delta('Hel'), exception(type, 'no'));
    expect(await model().execute(requestOf(), callOf().call)).toMatchObject({ kind: 'failed', cause });
  });

  test('a stream that ends early is a provider error', async () => {
    bedrock.streams(delta('Hel'));
    expect(await model().execute(requestOf(), callOf().call)).toMatchObject({ cause: 'provider_error', code: 'stream_broken' });
  });

  test('an invalid response and a reset stream are provider errors', async () => {
    bedrock.streams(Buffer.from('<html>Welcome to the hotel</html>, where the wireless is free'));
    expect(await model().execute(requestOf(), callOf().call)).toMatchObject({ kind: 'failed', cause: 'provider_error' });
    bedrock.answers((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/vnd.amazon.eventstream' });
      stream.write(delta('Hel'), () => stream.close(2));
    });
    expect(await model().execute(requestOf(), callOf().call)).toMatchObject({ kind: 'failed', cause: 'provider_error' });
  });

  test('the signal aborts the call of a model that does not respond', async () => {
    const { heard, call, stop: hangUp } = callOf();
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    bedrock.answers((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/vnd.amazon.eventstream' });
      stream.write(delta('Hel'));
      stream.on('close', resolve);
      const whenHeard = setInterval(() => {
        if (heard.length === 0) return;
        clearInterval(whenHeard);
        hangUp.abort(new Error('enough'));
      }, 5);
    });
    await expect(model().execute(requestOf(), call)).rejects.toThrow('enough');
    await gone;
    expect(heard).toEqual(['Hel']);
  });

  test('attachments and invalid parameters are refused without a request', async () => {
    bedrock.streams(stop);
    expect(model().attachmentError('image')).toMatch(/does not accept .* image by its URL/);
    expect(await model().execute(requestOf({ params: { maxTokens: 'many' } }), callOf().call)).toMatchObject({
      code: 'params_invalid',
    });
    expect(bedrock.requests).toEqual([]);
  });
});

describe('a guardrail', () => {
  const arn = 'arn:aws:bedrock:eu-west-1:111122223333:guardrail/abc123';
  const guardrail = () => new BedrockGuardrail(client, { arn, version: '3' });
  const { signal } = new AbortController();
  const says = (body: object): void =>
    bedrock.answers((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      stream.end(JSON.stringify({ usage: {}, outputs: [], assessments: [], ...body }));
    });

  test('that does not intervene allows a text', async () => {
    says({ action: 'NONE' });
    expect(await guardrail().check('output', 'hello', signal)).toEqual({ kind: 'allowed' });
    const [request] = bedrock.requests;
    expect(request?.path).toBe(`/guardrail/${encodeURIComponent(arn)}/version/3/apply`);
    expect(JSON.parse(request?.body ?? '')).toEqual({ source: 'OUTPUT', content: [{ text: { text: 'hello' } }] });
  });

  test('that intervenes blocks a text, with its reason', async () => {
    says({
      action: 'GUARDRAIL_INTERVENED',
      actionReason: 'Guardrail blocked.',
      assessments: [{ contentPolicy: { filters: [] } }],
    });
    expect(await guardrail().check('input', 'hello', signal)).toEqual({
      kind: 'blocked',
      policy: 'contentPolicy',
      reason: 'Guardrail blocked.',
    });
    expect(JSON.parse(bedrock.requests[0]?.body ?? '')).toMatchObject({ source: 'INPUT' });
  });

  test.each([
    [429, 'ThrottlingException'],
    [403, 'AccessDeniedException'],
    [500, 'InternalServerException'],
  ])('that responds with %i is unavailable', async (status, type) => {
    bedrock.refuses(status, type, 'no');
    expect(await guardrail().check('input', 'hello', signal)).toMatchObject({ kind: 'unavailable' });
  });

  test('that returns no decision is unavailable', async () => {
    says({});
    expect(await guardrail().check('input', 'hello', signal)).toMatchObject({ kind: 'unavailable' });
  });

  test('is not called for an empty text', async () => {
    says({ action: 'GUARDRAIL_INTERVENED' });
    expect(await guardrail().check('input', '', signal)).toEqual({ kind: 'allowed' });
    expect(bedrock.requests).toEqual([]);
  });
});
