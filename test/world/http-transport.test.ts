/** The HTTP transport against a server: requests, answers, and which failures are tried again. */
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import * as z from 'zod';
import { worldMethods } from '../../lib/world/calls.ts';
import { HttpTransport, systemTools, worldRoutes } from '../../lib/world/http-transport.ts';

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

type Respond = (response: ServerResponse, attempt: number, request: IncomingMessage) => void;

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Respond =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

/** @param timeoutMs far above the duration of a call on a busy machine */
async function started(respond: Respond, app?: string, timeoutMs = 20_000) {
  const received: Received[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    received.push({
      method: request.method,
      url: request.url,
      authorization: request.headers.authorization,
      body: await text(request),
    });
    respond(response, received.length, request);
  };
  const server = createServer((request, response) => void receive(request, response)).listen(0, '127.0.0.1');
  closers.push(() => server.close().closeAllConnections());
  await once(server, 'listening');
  const { port } = z.object({ port: z.int() }).parse(server.address());
  const sleeps: number[] = [];
  const tools = { ...systemTools, sleep: async (ms: number) => void sleeps.push(ms), random: () => 1, timeoutMs };
  const transport = new HttpTransport(() => ({ baseUrl: `http://127.0.0.1:${port}/prod`, apiKey: 'sw_key', app }), tools);
  return { transport, received, sleeps };
}

test('bytes and times go through a call and its answer', async () => {
  const { transport, received } = await started(
    json(200, { run: { createdAt: { $date: '2026-11-25T00:00:00.000Z' }, output: { $bytes: 'AP8=' } } }),
  );
  const result = await transport.call('events.create', {
    runId: null,
    data: { eventData: { input: new Uint8Array([1, 2]) } },
    params: undefined,
  });
  expect(result).toEqual({
    kind: 'answered',
    value: { run: { createdAt: new Date('2026-11-25T00:00:00.000Z'), output: new Uint8Array([0, 255]) } },
  });
  expect(received).toEqual([
    {
      method: 'POST',
      url: '/prod/v1/world/events/create',
      authorization: 'Bearer sw_key',
      body: '{"runId":null,"data":{"eventData":{"input":{"$bytes":"AQI="}}}}',
    },
  ]);
});

test('reads by GET have their names in the path and the rest in the query', async () => {
  const { transport, received } = await started(json(200, {}), 'shop');
  await transport.call('hooks.getByToken', { token: 'a/b?c#d', resolveData: 'none' });
  await transport.call('steps.get', { runId: undefined, stepId: 'step_1' });
  await transport.call('deploymentId', {});
  await transport.call('apps.register', { baseUrl: 'https://a', specVersion: 5 });
  expect(received.map(({ method, url, body }) => [method, url, body])).toEqual([
    ['GET', '/prod/v1/world/hooks/by-token/a%2Fb%3Fc%23d?resolveData=none', ''],
    ['GET', '/prod/v1/world/steps/step_1', ''],
    ['GET', '/prod/v1/world/deployment-id?app=shop', ''],
    ['POST', '/prod/v1/world/apps', '{"app":"shop","baseUrl":"https://a","specVersion":5}'],
  ]);
});

test('every call has a route of its own', () => {
  const routes = worldMethods.map((method) => `${worldRoutes[method].method} ${worldRoutes[method].path}`);
  expect(new Set(routes).size).toBe(worldMethods.length);
});

test('a refusal has the code, the message and the delay of the service', async () => {
  const { transport } = await started(json(425, { code: 'too_early', message: 'wait', correlationId: 'c', retryAfter: 12 }));
  expect(await transport.call('events.create', {})).toEqual({
    kind: 'refused',
    status: 425,
    code: 'too_early',
    message: 'wait',
    retryAfter: 12,
  });
});

test('an invalid request names its first error', async () => {
  const { transport } = await started(
    json(400, {
      code: 'invalid_request',
      message: 'The request is invalid.',
      errors: [{ pointer: '/runId', message: 'is missing' }],
    }),
  );
  expect(await transport.call('events.list', {})).toMatchObject({ message: 'The request is invalid. (/runId: is missing)' });
});

test.each([
  [409, 'no_active_deployment', { recovery: 'Deploy the app.' }, 'none. Deploy the app.'],
  [401, 'unauthorized', { recovery: 'Send a header.' }, /^none\. Set STEPWELL_API_KEY to a valid key: npx stepwell keys create/],
  [403, 'missing_scope', { required: 'world:proxy' }, /^none \(required: world:proxy\)\. Set STEPWELL_API_KEY to a key with/],
] as const)('a refusal %i %s says what to do next', async (status, code, more, message) => {
  const { transport } = await started(json(status, { code, message: 'none', ...more }));
  const refused = await transport.call('deploymentId', {});
  expect(refused).toMatchObject({ kind: 'refused', status, code });
  expect('message' in refused && refused.message).toMatch(message);
});

test.each([
  [200, 'a page of a proxy', 'UNREADABLE_ANSWER'],
  [302, '', 'HTTP_302'],
  [404, '<html>', 'HTTP_404'],
  [413, '{"message":"Request Too Long"}', 'payload_too_large'],
])('an answer %i that is not of the service is a refusal with the code %3$s', async (status, body, code) => {
  const { transport } = await started((response) => response.writeHead(status, { location: 'http://elsewhere' }).end(body));
  expect(await transport.call('runs.get', { runId: 'wrun_1' })).toMatchObject({ kind: 'refused', code });
});

test.each([
  ['runs.get', 429, {}, 4],
  ['runs.get', 502, {}, 4],
  ['runs.get', 503, {}, 4],
  ['runs.get', 504, {}, 4],
  ['queue.publish', 502, {}, 4],
  ['runs.get', 500, {}, 1],
  ['runs.get', 404, {}, 1],
  ['runs.get', 429, { 'retry-after': '60' }, 1],
  ['events.create', 503, {}, 4],
  ['events.create', 429, {}, 4],
  ['events.create', 502, {}, 1],
  ['events.create', 504, {}, 1],
  ['streams.write', 502, {}, 1],
] as const)('%s with status %i and headers %j is sent %i times', async (method, status, headers, attempts) => {
  const { transport, received } = await started(json(status, { code: 'x', message: 'm' }, headers));
  await transport.call(method, { runId: 'wrun_1' });
  expect(received).toHaveLength(attempts);
});

test('a call succeeds at the second attempt, after the delay that the service asks for', async () => {
  const { transport, sleeps } = await started((response, attempt, request) =>
    (attempt === 1 ? json(503, { code: 'unavailable' }, { 'retry-after': '1' }) : json(200, { ok: true }))(
      response,
      attempt,
      request,
    ),
  );
  expect(await transport.call('events.create', {})).toEqual({ kind: 'answered', value: { ok: true } });
  expect(sleeps).toEqual([1_100]);
});

test.each([
  ['runs.get', 4],
  ['events.create', 1],
  ['streams.write', 1],
] as const)('%s over an interrupted connection is sent %i times', async (method, attempts) => {
  const { transport, received } = await started((response) => response.destroy());
  expect(await transport.call(method, { runId: 'wrun_1' })).toMatchObject({ kind: 'failed', reason: 'transport' });
  expect(received).toHaveLength(attempts);
});

test('a call that cannot have reached the service is tried again, also if it is not repeatable', async () => {
  let attempts = 0;
  const refusedConnection = async (): Promise<Response> => {
    attempts += 1;
    throw Object.assign(new TypeError('fetch failed'), {
      cause: new AggregateError([Object.assign(new Error('no'), { code: 'ECONNREFUSED' })]),
    });
  };
  const tools = { ...systemTools, sleep: async () => {}, fetch: refusedConnection };
  const transport = new HttpTransport(() => ({ baseUrl: 'http://127.0.0.1:9', apiKey: 'k', app: undefined }), tools);
  expect(await transport.call('events.create', {})).toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('ECONNREFUSED'),
  });
  expect(attempts).toBe(4);
});

test('a call without an answer ends with a timeout, and is not tried again', async () => {
  const { transport, received } = await started(() => {}, undefined, 200);
  expect(await transport.call('runs.get', { runId: 'wrun_1' })).toMatchObject({ kind: 'failed', reason: 'timeout' });
  expect(received).toHaveLength(1);
});
