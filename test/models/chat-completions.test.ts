/** The chat completions adapter against a local server: valid responses and all kinds of errors. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { minutes } from '../../lib/engine/time.ts';
import { ChatCompletions } from '../../lib/models/chat-completions.ts';
import { publicInternet } from '../../lib/egress/destination.ts';
import { networkAccessOf } from '../../lib/egress/private-destinations.ts';
import { OtherSide, reachOf } from '../nodes/other-side.ts';
import { apiKey, arn, callOf, keysGiven, requestOf } from './given.ts';

const server = new OtherSide();
beforeAll(() => server.start());
afterAll(() => server.stop());

const delta = (content: string, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content }, ...more }],
});
const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const usage = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 } };
const lines = (...parts: readonly unknown[]) =>
  parts.map((part) => `data: ${typeof part === 'string' ? part : JSON.stringify(part)}\n\n`).join('');
const stream = (response: ServerResponse, text: string): void => {
  response.setHeader('content-type', 'text/event-stream; charset=utf-8');
  response.end(text);
};

const given = (more: Partial<ConstructorParameters<typeof ChatCompletions>[0]> = {}) => {
  const { keys, secrets, clock } = keysGiven();
  const options = { baseUrl: server.url('/v1/'), model: 'small-1', secretArn: arn, keys, networkAccess: reachOf(), ...more };
  return { secrets, clock, model: new ChatCompletions(options) };
};
const ask = (reply: Parameters<typeof server.answers>[0], request = requestOf(), asked = callOf()) => {
  server.answers(reply);
  return given().model.execute(request, asked.call);
};
const streaming = (text: string) => ask((_request, response) => stream(response, text));

describe('an answer', () => {
  test('is streamed, and completes with its tokens', async () => {
    const asked = callOf();
    const text = lines(
      { choices: [{ delta: { role: 'assistant', content: '' } }] },
      delta('Hel'),
      delta('lo ☎'),
      end,
      usage,
      '[DONE]',
    );
    const answer = await ask((_request, response) => stream(response, `: a comment\n\n${text}`), requestOf(), asked);
    expect(asked.heard).toEqual(['Hel', 'lo ☎']);
    expect(answer).toEqual({
      kind: 'completed',
      mediaType: 'text',
      text: 'Hello ☎',
      tokens: { input: 7, output: 2 },
      metadata: { finishReason: 'stop' },
    });
  });

  test('comes from a request with the key, the idempotency token and the params', async () => {
    const params = { temperature: 0.5, maxTokens: 9, topP: 0.1, stop: ['x'], model: 'mine', stream: false, messages: [] };
    await ask((_request, response) => stream(response, lines(delta('x'), end)), requestOf({ params }));
    const [seen] = server.seen;
    expect([seen?.method, seen?.url]).toEqual(['POST', '/v1/chat/completions']);
    expect(seen?.headers).toMatchObject({
      authorization: `Bearer ${apiKey}`,
      'idempotency-key': 'run/node/1',
      accept: 'text/event-stream',
      'content-type': 'application/json',
    });
    expect(JSON.parse(seen?.body ?? '')).toEqual({
      model: 'small-1',
      messages: [{ role: 'user', content: 'Say hello' }],
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      max_tokens: 9,
      top_p: 0.1,
      stop: ['x'],
    });
  });

  test('needs no key without a secret; images are passed by URL', async () => {
    server.answers((_request, response) => stream(response, lines(delta('x'), end)));
    const { keys } = keysGiven();
    const model = new ChatCompletions({ baseUrl: server.url(''), model: 'm', keys, networkAccess: reachOf() });
    const attachments = [{ kind: 'image', url: 'https://example.com/a.png' }] as const;
    expect(await model.execute(requestOf({ attachments }), callOf().call)).toMatchObject({ kind: 'completed', text: 'x' });
    expect(server.seen[0]?.headers).not.toHaveProperty('authorization');
    expect(JSON.parse(server.seen[0]?.body ?? '').messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Say hello' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
    ]);
  });

  test('is the same for any chunk borders and line ends', async () => {
    for (const newline of ['\n', '\r\n', '\r']) {
      const bytes = Buffer.from(lines(delta('Grüße '), delta('☎'), end, '[DONE]').replaceAll('\n', newline));
      const answer = await ask((_request, response) => {
        response.setHeader('content-type', 'text/event-stream');
        let at = 0;
        const next = (): void => {
          if (at >= bytes.length) return void response.end();
          response.write(bytes.subarray(at, (at += 7)));
          setImmediate(next);
        };
        next();
      });
      expect(answer).toMatchObject({ kind: 'completed', text: 'Grüße ☎' });
    }
  });

  test('may come from a server that does not stream', async () => {
    const asked = callOf();
    const body = { choices: [{ message: { role: 'assistant', content: 'Hello' }, finish_reason: 'length' }], usage: usage.usage };
    const answer = await ask(
      (_request, response) => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(body));
      },
      requestOf(),
      asked,
    );
    expect(answer).toMatchObject({ text: 'Hello', tokens: { input: 7, output: 2 }, metadata: { finishReason: 'length' } });
    expect(asked.heard).toEqual(['Hello']);
  });
});

describe('an error', () => {
  test('status 429 may say when to retry: seconds, or a date', async () => {
    const answer = await ask((_request, response) => {
      response.writeHead(429, { 'retry-after': '7' });
      response.end(JSON.stringify({ error: { message: `slow down, ${apiKey}` } }));
    });
    expect(answer).toEqual({
      kind: 'failed',
      cause: 'rate_limit',
      code: 'provider_rate_limit',
      message: `the provider returned status 429: slow down, ${apiKey}`,
      retryAfterMs: 7_000,
    });
    const dated = await ask((_request, response) => {
      response.writeHead(429, { date: 'Fri, 20 Nov 2026 12:00:00 GMT', 'retry-after': 'Fri, 20 Nov 2026 12:01:00 GMT' });
      response.end();
    });
    expect(dated).toMatchObject({ cause: 'rate_limit', retryAfterMs: 60_000 });
    expect(await ask((_request, response) => response.writeHead(429).end())).not.toHaveProperty('retryAfterMs');
  });

  test.each([
    [500, 'provider_error', 'provider_error'],
    [503, 'provider_error', 'provider_error'],
    [408, 'provider_error', 'provider_error'],
    [400, 'invalid', 'provider_refused'],
    [404, 'invalid', 'provider_refused'],
    [302, 'invalid', 'provider_refused'],
    [401, 'provider_error', 'provider_key_refused'],
    [403, 'provider_error', 'provider_key_refused'],
  ])('status %i is %s, %s', async (status, cause, code) => {
    const asked = callOf();
    const reply = (_request: unknown, response: ServerResponse): void => {
      response.writeHead(status, { location: server.url('/elsewhere') });
      response.end(JSON.stringify({ error: { message: `no: ${apiKey}` } }));
    };
    const answer = await ask(reply, requestOf(), asked);
    expect(answer).toMatchObject({ kind: 'failed', cause, code });
    // What is said to a wrong key may hold a part of it; of all else the caller takes out what it was told to.
    const isKeyRefused = code === 'provider_key_refused';
    const hidden = asked.hidden.reduce((text, each) => text.replaceAll(each, ''), JSON.stringify(answer));
    expect(isKeyRefused ? JSON.stringify(answer) : hidden).not.toContain(apiKey);
    expect(server.seen).toHaveLength(1);
  });

  test.each([
    ['a stream that ends in the middle', lines(delta('Hel')), 'stream_broken'],
    ['a stream of nothing', '', 'stream_broken'],
    ['rubbish', 'data: {"choices": "what"}\n\n', 'provider_answer_invalid'],
    ['a part that is not JSON', lines(delta('Hel'), '{"choi'), 'provider_answer_invalid'],
    ['an error in the stream', lines(delta('Hel'), { error: { message: 'overloaded' } }), 'stream_broken_by'],
  ])('%s', async (_what, text, code) => {
    expect(await streaming(text)).toMatchObject({
      kind: 'failed',
      cause: 'provider_error',
      code: code === 'stream_broken_by' ? 'provider_error' : code,
    });
  });

  test('an HTML page, and a JSON body that is not a completion', async () => {
    const page = (type: string) =>
      ask((_request, response) => {
        response.setHeader('content-type', type);
        response.end('<html>Welcome to the hotel</html>');
      });
    expect(await page('text/html')).toMatchObject({ kind: 'failed', cause: 'provider_error', code: 'stream_broken' });
    expect(await page('application/json')).toMatchObject({ kind: 'failed', code: 'provider_answer_invalid' });
  });

  test('a connection that breaks during the answer', async () => {
    const asked = callOf();
    const answer = await ask(
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream');
        response.write(lines(delta('Hel')));
        setTimeout(() => response.destroy(), 20);
      },
      requestOf(),
      asked,
    );
    expect(asked.heard).toEqual(['Hel']);
    expect(answer).toMatchObject({ kind: 'failed', cause: 'provider_error', code: 'provider_unreachable' });
  });

  test('a line without an end, and an answer without one', async () => {
    expect(await streaming(`data: ${'x'.repeat(1_500_000)}`)).toMatchObject({ code: 'provider_answer_invalid' });
    const long = delta('x'.repeat(900_000));
    expect(await streaming(lines(long, long, long, long, long, end))).toMatchObject({
      cause: 'invalid',
      code: 'answer_too_large',
    });
  });

  test('the signal aborts a call of a provider that hangs', async () => {
    const asked = callOf();
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const answering = ask(
      (_request, response) => {
        response.setHeader('content-type', 'text/event-stream');
        response.write(lines(delta('Hel')));
        response.on('close', resolve);
        setTimeout(() => asked.stop.abort(new Error('enough')), 20);
      },
      requestOf(),
      asked,
    );
    await expect(answering).rejects.toThrow('enough');
    await gone;
  });

  test('no server', async () => {
    const { model } = given({ baseUrl: 'http://api.test:1' });
    expect(await model.execute(requestOf(), callOf().call)).toMatchObject({
      cause: 'provider_error',
      code: 'provider_unreachable',
    });
    const { model: unknown } = given({ baseUrl: 'http://nobody.test' });
    expect(await unknown.execute(requestOf(), callOf().call)).toMatchObject({
      cause: 'provider_error',
      code: 'provider_unreachable',
    });
  });

  test('the production rule forbids private addresses, and the key is not sent', async () => {
    server.answers((_request, response) => response.end());
    const { model } = given({ baseUrl: `http://127.0.0.1:${server.port}`, networkAccess: publicInternet });
    expect(await model.execute(requestOf(), callOf().call)).toMatchObject({ cause: 'invalid', code: 'address_forbidden' });
    expect(server.seen).toEqual([]);
  });

  test('a model on this machine is reachable over http with the setting of the embedded cloud', async () => {
    server.answers((_request, response) => response.end());
    const { model } = given({ baseUrl: `http://127.0.0.1:${server.port}`, networkAccess: networkAccessOf(['localhost']) });
    expect(await model.execute(requestOf(), callOf().call)).not.toMatchObject({ code: 'address_forbidden' });
    expect(server.seen).toHaveLength(1);
  });

  test('http to the public internet is forbidden, and the key is not sent', async () => {
    const resolve = () => Promise.resolve([{ address: '8.8.8.8', family: 4 as const }]);
    const { model } = given({ baseUrl: 'http://model.test', networkAccess: { ...publicInternet, resolve } });
    expect(await model.execute(requestOf(), callOf().call)).toMatchObject({
      code: 'address_forbidden',
      message: expect.stringContaining('must begin with https://'),
    });
  });

  test('only images are passed by URL', () => {
    const { model } = given();
    expect(model.attachmentError('image')).toBeUndefined();
    expect(model.attachmentError('audio')).toMatch(/small-1 accepts no attachment of kind audio/);
    expect(model.attachmentError('document')).toMatch(/document/);
  });
});

describe('the key', () => {
  test('is registered to be masked in the provider’s messages', async () => {
    const asked = callOf();
    await ask((_request, response) => stream(response, lines(delta('x'), end)), requestOf(), asked);
    expect(asked.hidden).toEqual([apiKey]);
  });

  test('can be a secret of the run’s project', async () => {
    server.answers((_request, response) => stream(response, lines(delta('x'), end)));
    const { keys } = keysGiven();
    const modelBy = (keyName: string) =>
      new ChatCompletions({ baseUrl: server.url('/v1'), model: 'small-1', keyName, keys, networkAccess: reachOf() });
    await modelBy('own-key').execute(requestOf(), callOf().call);
    expect(server.seen.at(-1)?.headers.authorization).toBe('Bearer sk-of-the-project');
    const asked = server.seen.length;
    expect(await modelBy('another').execute(requestOf(), callOf().call)).toEqual({
      kind: 'failed',
      cause: 'forbidden',
      code: 'secret_not_allowed',
      message: 'not another',
    });
    expect(server.seen).toHaveLength(asked);
  });

  test('is cached, and read again after it was rejected', async () => {
    const { model, secrets, clock } = given();
    const status = { now: 200 };
    server.answers((_request, response) => {
      if (status.now === 200) stream(response, lines(delta('x'), end));
      else response.writeHead(status.now).end();
    });
    const sent = async () => {
      await model.execute(requestOf(), callOf().call);
      return server.seen.at(-1)?.headers.authorization;
    };
    expect(await sent()).toBe(`Bearer ${apiKey}`);
    await secrets.setValue(arn, 'second');
    expect(await sent()).toBe(`Bearer ${apiKey}`);
    status.now = 401;
    expect(await sent()).toBe(`Bearer ${apiKey}`);
    status.now = 200;
    expect(await sent()).toBe('Bearer second');
    await secrets.setValue(arn, 'third');
    clock.advance(minutes(5));
    expect(await sent()).toBe('Bearer third');
  });

  test('that is missing is unavailable, and nothing is sent', async () => {
    server.answers((_request, response) => response.end());
    const { model, secrets } = given();
    secrets.create(arn);
    await expect(model.execute(requestOf(), callOf().call)).rejects.toThrow('not available now');
    expect(server.seen).toEqual([]);
  });
});
