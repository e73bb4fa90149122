import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { type DurationMs, durationMs, seconds } from '../../lib/engine/time.ts';
import { correlationId } from '../../lib/engine/ids.ts';
import { traceparent } from '../../lib/engine/trace.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { found, inputOf, outputOf, planNode, toolsOf } from './given.ts';
import { OtherSide, reachOf } from './other-side.ts';

const server = new OtherSide();
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => server.answers((_request, response) => response.end('ok')));

interface Given {
  readonly context?: JsonObject;
  readonly timeoutMs?: DurationMs;
  readonly signal?: AbortSignal;
}
const attempt = createAttemptRunner(createRunners({ networkAccess: reachOf() }));
const send = async (config: JsonObject, { context = {}, timeoutMs = seconds(30), signal }: Given = {}) => {
  const node = planNode('http', { url: server.url('/'), ...config });
  const { outcome } = await attempt(
    { ...node, policy: { ...node.policy, timeoutMs } },
    inputOf(context),
    toolsOf(timeoutMs, signal),
  );
  return outcome;
};
const output = async (config: JsonObject = {}, given?: Given): Promise<JsonValue> => outputOf(await send(config, given));
const failure = async (config: JsonObject = {}, given?: Given) => {
  const outcome = await send(config, given);
  return outcome.kind === 'failed' ? { ...outcome.failure, retryAfterMs: outcome.retryAfterMs } : outcome;
};

describe('a request', () => {
  it('carries the values of its templates', async () => {
    const config = {
      method: 'PUT',
      url: `${server.url('/orders')}/{{ctx.id}}?a=1`,
      headers: { 'X-Trace': 't-{{ctx.id}}', 'content-type': 'application/vnd.order+json' },
      query: { q: '{{ctx.text}}', tag: ['x', '{{ctx.id}}'], none: null, missing: '{{ctx.nothing}}', n: 5 },
      body: { id: '{{ctx.id}}', lines: ['{{ctx.text}}'] },
    };
    await output(config, { context: { id: 7, text: 'a&b=c d' } });
    expect(server.seen).toEqual([
      expect.objectContaining({
        method: 'PUT',
        url: '/orders/7?a=1&q=a%26b%3Dc+d&tag=x&tag=7&n=5',
        body: '{"id":7,"lines":["a&b=c d"]}',
      }),
    ]);
    expect(server.seen[0]?.headers).toMatchObject({ 'x-trace': 't-7', 'content-type': 'application/vnd.order+json' });
  });

  describe('of a traced run', () => {
    const trace = {
      correlationId: correlationId('order 17'),
      traceparent: traceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
    };
    const sent = async (config: JsonObject, traced = true) => {
      const node = planNode('http', { url: server.url('/'), ...config });
      await attempt(node, inputOf(), { ...toolsOf(), ...(traced ? { trace } : {}) });
      return server.seen.at(-1)?.headers ?? {};
    };

    it('carries the trace, and the correlation id only on request', async () => {
      const headers = await sent({});
      expect(headers['traceparent']).toBe(trace.traceparent);
      expect(headers).not.toHaveProperty('x-workflow-correlation-id');
      expect(await sent({ sendCorrelationId: true })).toMatchObject({ 'x-workflow-correlation-id': 'order 17' });
    });

    it('carries the author’s headers instead', async () => {
      expect(await sent({ headers: { Traceparent: 'own' } })).toMatchObject({ traceparent: 'own' });
    });

    it('carries none if the run has none', async () => {
      expect(await sent({ sendCorrelationId: true }, false)).not.toHaveProperty('traceparent');
    });
  });

  it.each<[JsonValue, string, string | undefined]>([
    ['plain', 'plain', 'text/plain;charset=UTF-8'],
    ['{{ctx.object}}', '{"a":1}', 'application/json'],
    ['text: {{ctx.object}}', 'text: {"a":1}', 'text/plain;charset=UTF-8'],
    [[1, 2], '[1,2]', 'application/json'],
    [false, 'false', 'application/json'],
    [null, '', undefined],
    ['{{ctx.nothing}}', '', undefined],
  ])('sends the body %j as %j', async (body, text, type) => {
    await output({ method: 'POST', body }, { context: { object: { a: 1 } } });
    expect(server.seen[0]?.body).toBe(text);
    expect(server.seen[0]?.headers['content-type']).toBe(type);
  });

  it('has an idempotency key if it may have an effect', async () => {
    await output({ method: 'POST' });
    await output({ method: 'POST', headers: { 'Idempotency-Key': 'mine' } });
    await output({ method: 'POST', sendIdempotencyKey: false });
    await output({ method: 'GET' });
    expect(server.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['run/node/1', 'mine', undefined, undefined]);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['an address that is none', { url: '{{ctx.url}}' }, { url: 'no address' }],
    ['an address that is missing', { url: '{{ctx.url}}' }, {}],
    ['a password in the address', { url: '{{ctx.url}}' }, { url: 'http://user:secret@api.test/' }],
    // A definition or a query that was stored before the name was judged.
    ['a header of the sender', { headers: { 'Transfer-Encoding': 'chunked' } }, {}],
    ['a header with a line break', { headers: { 'x-a': '{{ctx.a}}' } }, { a: 'b\r\nx-evil: 1' }],
  ])('with %s is not sent', async (_what, config, context) => {
    expect(await failure(config, { context })).toMatchObject({ cause: 'invalid', code: 'request_invalid' });
    expect(server.seen).toEqual([]);
  });
});

describe('a redirect', () => {
  const redirect = (status: number, location: string) =>
    server.answers((request, response) => {
      if (request.url === '/') response.writeHead(status, { location }).end();
      else response.end('there');
    });
  const secrets = { authorization: 'Bearer s', cookie: 's=1', 'x-other': 'o' };

  it.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [307, 'POST', 'POST', 'b'],
    [308, 'PUT', 'PUT', 'b'],
    [302, 'PUT', 'PUT', 'b'],
  ])('%i of a %s becomes a %s', async (status, method, next, body) => {
    redirect(status, '/there?x=1');
    expect(await output({ method, body: 'b' })).toMatchObject({ status: 200, body: 'there' });
    expect(server.seen[1]).toMatchObject({ method: next, url: '/there?x=1', body });
  });

  it('does not send credentials to another origin', async () => {
    redirect(307, '/there');
    await output({ headers: secrets });
    expect(server.seen[1]?.headers).toMatchObject(secrets);
    redirect(307, server.url('/there', 'other.test'));
    await output({ headers: secrets });
    expect(server.seen[0]?.headers).toMatchObject(secrets);
    expect(server.seen[1]?.headers).toMatchObject({ 'x-other': 'o' });
    expect(server.seen[1]?.headers).not.toHaveProperty('authorization');
    expect(server.seen[1]?.headers).not.toHaveProperty('cookie');
  });

  it('without a location is an ordinary response', async () => {
    server.answers((_request, response) => response.writeHead(304).end());
    expect(await output()).toMatchObject({ status: 304, body: '' });
  });
});

describe('a response', () => {
  const answer = (type: string | undefined, body: string | Buffer, headers: Record<string, string | string[]> = {}) =>
    server.answers((_request, response) => {
      response.writeHead(200, { ...(type === undefined ? {} : { 'content-type': type }), ...headers }).end(body);
    });

  it.each<[string | undefined, string | Buffer, JsonObject]>([
    ['application/json', '{"a":[1]}', { body: { a: [1] } }],
    ['application/problem+json; charset=utf-8', '{"a":1}', { body: { a: 1 } }],
    ['application/json', 'not json', { body: 'not json' }],
    ['application/json', '', { body: null }],
    ['text/plain', '{"a":1}', { body: '{"a":1}' }],
    ['text/html; charset=iso-8859-1', Buffer.from([0xe9]), { body: 'é' }],
    [undefined, 'ü', { body: 'ü' }],
    ['image/png', Buffer.from([0x89, 0x50, 0xff]), { body: 'iVD/', bodyEncoding: 'base64' }],
    ['text/plain; charset=unheard-of', 'a', { body: 'YQ==', bodyEncoding: 'base64' }],
  ])('of type %s', async (type, body, read) => {
    answer(type, body);
    const { status, headers, ...rest } = Object(await output());
    expect([status, typeof headers]).toEqual([200, 'object']);
    expect(rest).toEqual(read);
  });

  it('has its headers, and each of its cookies', async () => {
    answer('text/plain', 'a', { 'X-A': 'b', 'set-cookie': ['a=1', 'b=2'] });
    expect(await output()).toMatchObject({ headers: { 'x-a': 'b', 'set-cookie': ['a=1', 'b=2'] } });
  });

  it('is decompressed, and measured after decompression', async () => {
    answer('application/json', gzipSync('{"a":1}'), { 'content-encoding': 'gzip' });
    expect(await output()).toMatchObject({ body: { a: 1 } });
    answer('text/plain', gzipSync('x'.repeat(2_000_000)), { 'content-encoding': 'gzip' });
    expect(await failure()).toMatchObject({ cause: 'invalid', code: 'response_too_large' });
  });

  it('may have exactly the maximum size', async () => {
    answer('text/plain', 'x'.repeat(1_000));
    expect(await failure({ maxResponseBytes: 999 })).toMatchObject({ cause: 'invalid', code: 'response_too_large' });
    expect(await output({ maxResponseBytes: 1_000 })).toMatchObject({ body: 'x'.repeat(1_000) });
    answer('text/plain', 'x'.repeat(1_048_577));
    expect(await failure()).toMatchObject({ code: 'response_too_large' });
  });

  it('that never ends is aborted', async () => {
    server.answers((_request, response) => {
      const more = (): void => void (response.destroyed || response.write('x'.repeat(65_536), more));
      more();
    });
    expect(await failure()).toMatchObject({ code: 'response_too_large' });
  });
});

describe('a status', () => {
  const answer = (status: number, headers: Record<string, string> = {}) =>
    server.answers((_request, response) => response.writeHead(status, headers).end('because'));

  it.each([
    [400, 'invalid'],
    [401, 'invalid'],
    [404, 'invalid'],
    [422, 'invalid'],
    [408, 'provider_error'],
    [425, 'provider_error'],
    [429, 'rate_limit'],
    [500, 'provider_error'],
    [503, 'provider_error'],
  ])('%i is %s', async (status, cause) => {
    answer(status);
    expect(await failure()).toEqual({
      cause,
      code: 'http_status',
      message: `the server returned status ${status}`,
      details: { status, body: 'because', request: expect.objectContaining({ method: 'GET', url: server.url('/') }) },
      retryAfterMs: undefined,
    });
  });

  it('fails the node from failOnStatus on', async () => {
    answer(404);
    expect(await output({ failOnStatus: 500 })).toMatchObject({ status: 404, body: 'because' });
    expect(await output({ failOnStatus: 404 })).toBeNull();
    answer(500);
    expect(await output({ failOnStatus: false })).toMatchObject({ status: 500 });
  });

  it.each([
    ['7', 'Fri, 20 Nov 2026 12:00:00 GMT', 7_000],
    ['Fri, 20 Nov 2026 12:00:30 GMT', 'Fri, 20 Nov 2026 12:00:00 GMT', 30_000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 'Fri, 20 Nov 2026 12:00:00 GMT', 0],
    ['999999999', 'Fri, 20 Nov 2026 12:00:00 GMT', 86_400_000],
    ['soon', 'Fri, 20 Nov 2026 12:00:00 GMT', undefined],
    ['-1', 'Fri, 20 Nov 2026 12:00:00 GMT', undefined],
  ])('429 with Retry-After %s', async (retryAfter, date, waitMs) => {
    answer(429, { 'retry-after': retryAfter, date });
    expect(await failure()).toMatchObject({ cause: 'rate_limit', retryAfterMs: waitMs });
  });
});

describe('without a response', () => {
  it('the time limit is a timeout, and names the limit', async () => {
    server.answers(() => undefined);
    const expected = { cause: 'timeout', code: 'http_timeout', details: { timeoutMs: 50 } };
    expect(await failure({}, { timeoutMs: durationMs(50) })).toMatchObject(expected);
  });

  it('a body that stalls is a timeout', async () => {
    server.answers((_request, response) => void response.writeHead(200).write('half'));
    expect(await failure({}, { timeoutMs: durationMs(50) })).toMatchObject({ cause: 'timeout', code: 'http_timeout' });
  });

  it('a DNS lookup that hangs is a timeout', async () => {
    const networkAccess = { isAllowed: () => true, resolve: () => new Promise<never>(() => undefined) };
    const node = planNode('http', { url: 'http://slow.test/' });
    const limited = { ...node, policy: { ...node.policy, timeoutMs: durationMs(50) } };
    const { outcome } = await createAttemptRunner(createRunners({ networkAccess }))(limited, inputOf(), toolsOf());
    expect(outcome).toMatchObject({ failure: { cause: 'timeout' } });
  });

  it('a cancelled run has no outcome', async () => {
    const stop = new AbortController();
    server.answers(() => stop.abort(new Error('cancelled')));
    await expect(send({}, { signal: stop.signal })).rejects.toThrow('cancelled');
  });

  it('a refused or broken connection is a provider error', async () => {
    const gone = new OtherSide();
    await gone.start();
    const url = gone.url('/');
    await gone.stop();
    expect(await failure({ url })).toMatchObject({ cause: 'provider_error', code: 'unreachable' });
    server.answers((_request, response) => response.destroy());
    expect(await failure()).toMatchObject({ cause: 'provider_error', code: 'unreachable' });
  });
});

describe('an invalid request', () => {
  it.each<[JsonObject, string]>([
    [{ url: '/relative' }, 'url'],
    [{ url: 'ftp://example.com' }, 'url'],
    [{ url: 'https://user:secret@example.com' }, 'url'],
    [{ url: '' }, 'url'],
    [{ method: 'TRACE' }, 'method'],
    [{ headers: { Host: 'x' } }, 'headers/Host'],
    [{ headers: { 'Content-Length': '5' } }, 'headers/Content-Length'],
    [{ headers: { 'Proxy-Authorization': 'x' } }, 'headers/Proxy-Authorization'],
    [{ headers: { 'a b': 'x' } }, 'headers/a b'],
    [{ headers: { a: 5 } }, 'headers/a'],
    [{ query: { a: { b: 1 } } }, 'query/a'],
    [{ body: 'b' }, 'body'],
    [{ method: 'HEAD', body: {} }, 'body'],
    [{ failOnStatus: 399 }, 'failOnStatus'],
    [{ failOnStatus: true }, 'failOnStatus'],
    [{ maxRedirects: 6 }, 'maxRedirects'],
    [{ maxResponseBytes: 5_242_881 }, 'maxResponseBytes'],
  ])('%j', (config, place) => {
    expect(found('http', { url: 'https://example.com', ...config })).toEqual([`config_invalid /nodes/0/config/${place}`]);
  });

  it('a URL with a template is checked when the node runs', () => {
    expect(found('http', { url: '{{ctx.base}}/orders', method: 'POST', body: '{{ctx.order}}' })).toEqual([]);
  });
});
