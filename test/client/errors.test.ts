/** The error for each response, its fields, and what it never contains. */
import { describe, expect, test } from 'vitest';
import * as door from '../../lib/client/index.ts';
import { networkError, healthy, json, createTestClient, errorResponse } from './test-client.ts';

const none = { retries: 0 };
const runId = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';

test.each([
  [401, 'unauthorized', door.UnauthorizedComputeClientError, 'UnauthorizedComputeClientError'],
  [403, 'missing_scope', door.ScopeComputeClientError, 'ScopeComputeClientError'],
  [403, 'request_blocked', door.ComputeClientError, 'ComputeClientError'],
  [409, 'idempotency_conflict', door.IdempotencyComputeClientError, 'IdempotencyComputeClientError'],
  [400, 'idempotency_required', door.IdempotencyComputeClientError, 'IdempotencyComputeClientError'],
  [429, 'rate_limited', door.RateLimitedComputeClientError, 'RateLimitedComputeClientError'],
  [409, 'run_exists', door.ComputeClientError, 'ComputeClientError'],
  [404, 'not_found', door.ComputeClientError, 'ComputeClientError'],
  [503, 'unavailable', door.ComputeClientError, 'ComputeClientError'],
  [418, 'a_code_of_tomorrow', door.ComputeClientError, 'ComputeClientError'],
] as const)('%i %s', async (status, code, kind, tag) => {
  const { client, expectError } = createTestClient([errorResponse(status, code)], none);
  const error = await expectError(client.trigger({ workflowName: 'flow' }));
  expect(error).toBeInstanceOf(door.ComputeClientError);
  expect(error).toMatchObject({ _tag: tag, name: tag, status, code, correlationId: 'theirs' });
  expect(error instanceof Error && error.constructor).toBe(kind);
  expect(error).toMatchObject({ message: `startRun: it is ${code} (${status} ${code})`, causeBody: { code } });
});

test('an error contains the missing scope and the error details with pointers', async () => {
  const scope = createTestClient([errorResponse(403, 'missing_scope', {}, { required: 'runs:read' })]);
  expect(await scope.expectError(scope.client.listRuns())).toMatchObject({ required: 'runs:read' });
  const errors = [{ pointer: '/input/to', code: 'required', message: 'is required' }];
  const input = createTestClient([errorResponse(400, 'input_invalid', {}, { errors })]);
  expect(await input.expectError(input.client.trigger({ workflowName: 'flow' }))).toMatchObject({
    code: 'input_invalid',
    errors,
  });
});

test.each([
  ['text', '<html>Bad Gateway</html>', '<html>Bad Gateway</html>'],
  ['JSON of another form', '{"error":{"code":7}}', { error: { code: 7 } }],
  ['empty', '', ''],
])('an error response that is %s keeps its status, its body and the sent id', async (_what, text, causeBody) => {
  const { client, sent, expectError } = createTestClient([() => new Response(text, { status: 401 })]);
  const error = await expectError(client.getRun(runId));
  expect(error).toBeInstanceOf(door.UnauthorizedComputeClientError);
  expect(error).toMatchObject({ status: 401, code: undefined, causeBody, message: 'getRun: refused (401)' });
  expect(error).toMatchObject({ correlationId: sent[0]?.headers.get('x-workflow-correlation-id') });
});

describe('a response that the route does not declare', () => {
  test.each([
    [
      'a wrong value',
      json(200, { healthy: 'yes', timestamp: 't' }),
      'getHealth: the response does not match the API at /healthy: ',
    ],
    ['no JSON', () => new Response('hello'), 'getHealth: the response does not match the API at the root: '],
    [
      'another status',
      () => new Response('', { status: 302 }),
      'getHealth: the response has the status 302, which this route does not return',
    ],
  ])('%s is an error with its pointer, and is not retried', async (_what, step, message) => {
    const { client, sent, expectError } = createTestClient([step]);
    const error = await expectError(client.health());
    expect(error).toBeInstanceOf(door.TransportComputeClientError);
    expect(error).toMatchObject({ kind: 'response', message: expect.stringContaining(message) });
    expect(sent).toHaveLength(1);
  });

  test('the pointer includes list indexes', async () => {
    const { client, expectError } = createTestClient([json(200, { data: [{ name: 'a' }], cursor: null, hasMore: false })]);
    expect(await expectError(client.listWorkflows())).toMatchObject({
      message: expect.stringContaining('at /data/0/latestVersion: '),
    });
  });
});

describe('a request', () => {
  test('sends the key, a correlation id and only the needed headers to the base address', async () => {
    const { client, sent, runToEnd } = createTestClient([healthy]);
    await runToEnd(client.health());
    expect(sent[0]).toMatchObject({ method: 'GET', path: '/v1/health', body: undefined });
    expect(Object.fromEntries(sent[0]?.headers ?? [])).toEqual({
      accept: 'application/json',
      authorization: 'Bearer sw_test_key',
      'x-workflow-correlation-id': 'id-1',
    });
  });

  test('uses the caller’s correlation id, or a new one for each call', async () => {
    const { client, sent, runToEnd } = createTestClient([healthy]);
    await runToEnd(client.health({ correlationId: 'mine' }));
    await runToEnd(client.health());
    await runToEnd(client.health());
    const ids = sent.map(({ headers }) => headers.get('x-workflow-correlation-id'));
    expect(ids[0]).toBe('mine');
    expect(new Set(ids).size).toBe(3);
  });

  test('encodes its query without undefined values', async () => {
    const { client, sent, runToEnd } = createTestClient([json(200, { data: [], cursor: null, hasMore: false })]);
    await runToEnd(client.listRuns({ limit: 5, status: 'failed', createdAfter: '2026-01-01T00:00:00+01:00' }));
    expect(sent[0]?.path).toBe('/v1/runs?limit=5&status=failed&createdAfter=2026-01-01T00%3A00%3A00%2B01%3A00');
  });

  test.each(['..', '', 'a/b', '?x=1', 'wrun_short'])(
    'for the run %j is not sent, because it would address another route',
    async (name) => {
      const { client, sent, expectError } = createTestClient([healthy]);
      expect(await expectError(client.cancelRun(name))).toBeInstanceOf(TypeError);
      expect(sent).toHaveLength(0);
    },
  );

  test('follows no redirect, so no other host receives the key', async () => {
    let redirect: string | undefined;
    const { client, expectError } = createTestClient([], {
      fetchImpl: async (_url, init) => {
        redirect = init.redirect;
        return new Response('', { status: 307, headers: { location: 'https://elsewhere.example.com' } });
      },
    });
    await expectError(client.health());
    expect(redirect).toBe('manual');
  });
});

describe('options', () => {
  const options = { baseUrl: 'https://api.example.com', apiKey: 'sw_test_key' };
  test.each([
    ['no address', { baseUrl: 'api.example.com' }],
    ['another protocol', { baseUrl: 'ftp://api.example.com' }],
    ['a query', { baseUrl: 'https://api.example.com?x=1' }],
    ['no key', { apiKey: '' }],
    ['a key in two lines', { apiKey: 'sw_secret\n' }],
    ['a zero timeout', { timeoutMs: 0 }],
    ['a timeout above the timer limit', { timeoutMs: 2_147_483_648 }],
    ['a fractional retry count', { retries: 0.5 }],
    ['a negative retry count', { retries: -1 }],
  ])('%s is refused immediately', (_what, wrong) => {
    expect(() => new door.StepwellClient({ ...options, ...wrong })).toThrow(/baseUrl|apiKey|timeoutMs|retries|URL/);
  });

  test('no error contains the key', async () => {
    expect(() => new door.StepwellClient({ ...options, apiKey: 'sw_secret\n' })).not.toThrow(/sw_secret/);
    const { client, expectError } = createTestClient([networkError], { ...none, apiKey: 'sw_secret' });
    const error = await expectError(client.health());
    expect(JSON.stringify([error, String(error)])).not.toContain('sw_secret');
    expect(JSON.stringify(client)).not.toContain('sw_secret');
  });
});
