/** What a browser is told: only pages of the setting `corsOrigins` may read answers, and no answer says more to any other. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { exposedHeaders } from '../../functions/api/pipeline/middleware.ts';
import { routes } from '../../lib/api/routes.ts';
import { http, openGraph, started } from './http.ts';

const page = 'https://app.example.com';
const second = 'http://localhost:5173';
const withPages = () => http(undefined, undefined, [page, second]);
const corsIn = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'));
const forPage = { 'access-control-allow-origin': page, 'access-control-expose-headers': exposedHeaders, vary: 'Origin' };

describe('an answer', () => {
  test('names the origin of a page that may read it, and only that', async () => {
    const api = withPages();
    const key = await api.key(['runs:read']);
    for (const Origin of [page, second]) {
      const { status, headers } = await api.call('GET', '/v1/runs', { key, headers: { Origin } });
      expect([status, corsIn(headers)]).toEqual([200, { ...forPage, 'access-control-allow-origin': Origin }]);
    }
  });

  test.each([
    ['another page', { Origin: 'https://evil.example' }],
    ['an origin that only begins like it', { Origin: `${page}.evil.example` }],
    ['the same host in the clear', { Origin: 'http://app.example.com' }],
    ['another port', { Origin: `${page}:8443` }],
    ['a page without an origin', { Origin: 'null' }],
    ['two origins', { Origin: `${page}, https://evil.example` }],
    ['a program', {}],
  ])('tells %s nothing but that it depends on the origin', async (_who, headers) => {
    const api = withPages();
    const answer = await api.call('GET', '/v1/runs', { key: await api.key(['runs:read']), headers });
    expect([answer.status, corsIn(answer.headers)]).toEqual([200, { vary: 'Origin' }]);
  });

  test.each([
    ['401', 'GET', '/v1/runs', {}, 401],
    ['404', 'GET', '/v1/nothing', {}, 404],
    ['405', 'PATCH', '/v1/runs', {}, 405],
    ['400 of a body that does not parse', 'POST', '/v1/runs', { text: '{' }, 400],
  ])('that is an error (%s) can be read as well', async (_what, method, path, options, status) => {
    const api = withPages();
    const key = status === 401 ? {} : { key: await api.key(['runs:read', 'trigger:write']) };
    const answer = await api.call(method, path, {
      ...key,
      ...options,
      headers: { Origin: page, 'Content-Type': 'application/json' },
    });
    expect([answer.status, corsIn(answer.headers)]).toEqual([status, forPage]);
  });

  test('after an exception or over the rate limit has the headers too', async () => {
    const broken = http(() => ({ keys: Object.create(null) }), undefined, [page]);
    const failed = await broken.call('GET', '/v1/runs', { key: await withPages().key(['runs:read']), headers: { Origin: page } });
    expect([failed.status, corsIn(failed.headers)]).toEqual([500, forPage]);
    const api = withPages();
    const key = await api.key(['runs:read'], { rateLimitPerMinute: 1 });
    const ask = () => api.call('GET', '/v1/runs', { key, headers: { Origin: page } });
    await ask();
    const limited = await ask();
    expect([limited.status, corsIn(limited.headers)]).toEqual([429, forPage]);
    expect(exposedHeaders.split(',')).toEqual(expect.arrayContaining(['retry-after', 'ratelimit', 'ratelimit-policy']));
  });

  test('never allows the credentials of a browser', async () => {
    const api = withPages();
    const { headers } = await api.call('GET', '/v1/health', { headers: { Origin: page } });
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test('says nothing of origins without the setting', async () => {
    const api = http();
    const { headers } = await api.call('GET', '/v1/health', { headers: { Origin: page } });
    expect(corsIn(headers)).toEqual({});
  });
});

describe('a stream of events', () => {
  const streamed = async (api: ReturnType<typeof http>, headers: Readonly<Record<string, string>>, query = {}) => {
    const key = await api.key(['runs:read', 'trigger:write', 'workflows:write']);
    const runId = await started(api, key, { graph: openGraph });
    const answer = await api.call('GET', `/v1/runs/${runId}/events`, {
      key,
      query,
      headers: { Accept: 'text/event-stream', ...headers },
    });
    answer.stream?.destroy();
    return answer;
  };

  test('can be read by a page that may, and not by another', async () => {
    const allowed = await streamed(withPages(), { Origin: page });
    expect([allowed.status, corsIn(allowed.headers)]).toEqual([200, forPage]);
    const other = await streamed(withPages(), { Origin: 'https://evil.example' });
    expect([other.status, corsIn(other.headers)]).toEqual([200, { vary: 'Origin' }]);
  });

  test('that a ticket opens is for any page only where no pages are named', async () => {
    const opened = async (api: ReturnType<typeof http>) => {
      const key = await api.key(['runs:read', 'trigger:write', 'workflows:write']);
      const runId = await started(api, key, { graph: openGraph });
      const { body } = await api.call('POST', `/v1/runs/${runId}/tickets`, { key, body: {} });
      const answer = await api.call('GET', `/v1/runs/${runId}/events`, {
        query: { ticket: z.string().parse(body['ticket']) },
        headers: { Accept: 'text/event-stream', Origin: 'https://evil.example' },
      });
      answer.stream?.destroy();
      return [answer.status, corsIn(answer.headers)];
    };
    expect(await opened(http())).toEqual([200, { 'access-control-allow-origin': '*' }]);
    expect(await opened(withPages())).toEqual([200, { vary: 'Origin' }]);
  });
});

describe('a preflight', () => {
  const asks = { Origin: page, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'authorization' };

  test('needs no key and returns the methods of the path and the allowed headers', async () => {
    const { status, headers } = await withPages().call('OPTIONS', '/v1/runs', { headers: asks });
    expect([status, corsIn(headers)]).toEqual([
      204,
      {
        ...forPage,
        'access-control-allow-methods': 'POST,GET',
        'access-control-allow-headers':
          'authorization,content-type,idempotency-key,last-event-id,traceparent,x-workflow-correlation-id',
        'access-control-max-age': '7200',
      },
    ]);
  });

  test.each([...new Set(routes.map(({ path }) => path))])('of %s names every method that it has', async (path) => {
    const concrete = path.replaceAll(/\{[^}]+\}/g, 'x');
    const { headers } = await withPages().call('OPTIONS', concrete, { headers: asks });
    const methods = routes.filter((route) => route.path === path).map(({ method }) => method);
    expect(headers['access-control-allow-methods']?.split(',')).toEqual(expect.arrayContaining(methods));
  });

  test.each([
    ['another page', { ...asks, Origin: 'https://evil.example' }, 405],
    ['who asks for no method', { Origin: page }, 405],
  ])('by %s is no preflight', async (_who, headers, status) => {
    const answer = await withPages().call('OPTIONS', '/v1/runs', { headers });
    expect([answer.status, answer.headers['access-control-allow-methods']]).toEqual([status, undefined]);
  });

  test('of a path that there is not, or without the setting, is answered as ever', async () => {
    expect((await withPages().call('OPTIONS', '/v1/nothing', { headers: asks })).status).toBe(404);
    expect((await http().call('OPTIONS', '/v1/runs', { headers: asks })).status).toBe(405);
  });
});

test('every header of an answer that a page may want is exposed', async () => {
  const api = withPages();
  const key = await api.key(['runs:read', 'trigger:write', 'workflows:write']);
  const runId = await started(api, key, { graph: openGraph });
  const answers = [
    await api.call('GET', `/v1/runs/${runId}`, { key, headers: { Origin: page } }),
    await api.call('GET', '/v1/runs', {
      key: await api.key(['runs:read'], { rateLimitPerMinute: 5 }),
      headers: { Origin: page },
    }),
  ];
  // Those that a page may read anyway (https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name), and those that speak to browsers.
  const others =
    /^(access-control-.*|vary|allow|cache-control|content-type|content-security-policy|referrer-policy|strict-transport-security|x-content-type-options)$/;
  const wanted = new Set(answers.flatMap(({ headers }) => Object.keys(headers)).filter((name) => !others.test(name)));
  expect([...wanted].filter((name) => !exposedHeaders.split(',').includes(name))).toEqual([]);
  expect(wanted.size).toBeGreaterThan(3);
});
