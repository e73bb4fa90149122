/** The option `startUrl`: which requests go there, and how the client reads the gateway's own answers there. */
import { describe, expect, test } from 'vitest';
import { ComputeClientError, RateLimitedComputeClientError } from '../../lib/client/index.ts';
import { startApiRoutes } from '../../lib/api/start-api.ts';
import { calls } from './every-call.ts';
import { createTestClient, json } from './test-client.ts';

const startUrl = 'https://start.example.com';
const base = 'https://api.example.com/prod';

describe('a request', () => {
  const marked = new Set(startApiRoutes.map(({ operationId }) => operationId));

  test('of a marked operation goes to the start API, and every other one to the base URL', async () => {
    expect(marked.size).toBe(5);
    const seen = new Map<string, string>();
    for (const [operationId, call] of Object.entries(calls)) {
      const urls: string[] = [];
      const { client, expectError } = createTestClient([], {
        startUrl: `${startUrl}/`,
        retries: 0,
        fetchImpl: async (url) => {
          urls.push(url);
          throw new TypeError('fetch failed');
        },
      });
      await expectError(Promise.resolve().then(() => call(client)));
      for (const url of urls)
        seen.set(operationId, url.startsWith(`${startUrl}/v1/`) ? 'start' : url.startsWith(`${base}/`) ? 'base' : url);
    }
    const expected = [...seen.keys()].map((operationId) => [operationId, marked.has(operationId) ? 'start' : 'base']);
    expect([...seen]).toEqual(expected);
    expect([...seen.keys()]).toEqual(expect.arrayContaining([...marked]));
  });

  test.each([undefined, ''])('goes to the base URL where the start URL is %o', async (absent) => {
    const { client, sent, expectError } = createTestClient([json(404, { code: 'not_found', message: 'x', correlationId: 'c' })], {
      startUrl: absent,
    });
    await expectError(client.getRun('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV'));
    expect(sent.map(({ path }) => path)).toEqual(['/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV']);
  });

  test.each(['ftp://start.example.com', 'https://user@start.example.com', 'https://start.example.com?a=1', 'start.example.com'])(
    'is not sent to %s',
    (invalid) => {
      expect(() => createTestClient([], { startUrl: invalid })).toThrow(/startUrl must be|Invalid URL/);
    },
  );
});

describe('an answer of the gateway itself', () => {
  const runId = 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV';
  const accepted = json(202, { runId, status: 'running', deploymentId: null });
  const body = { workflowName: 'flow' };

  test('of 404 has no code, so it is not mistaken for a run that does not exist', async () => {
    const { client, expectError } = createTestClient([json(404, { message: 'Not Found' })], { startUrl });
    const error = await expectError(client.getRun(runId));
    expect(error).toMatchObject({ status: 404, code: undefined, message: 'getRun: Not Found (404)' });
    expect(error).toBeInstanceOf(ComputeClientError);
  });

  test('of 413 is not repeated', async () => {
    const { client, sent, expectError } = createTestClient([json(413, { message: 'Request Entity Too Large' })], { startUrl });
    expect(await expectError(client.trigger(body))).toMatchObject({ status: 413, code: undefined });
    expect(sent).toHaveLength(1);
  });

  test.each([
    [429, 'Too Many Requests'],
    [500, 'Internal Server Error'],
    [503, 'Service Unavailable'],
  ])('of %i is repeated, with the same idempotency key and the backoff of the client', async (status, message) => {
    const { client, sent, runToEnd } = createTestClient([json(status, { message }), accepted], { startUrl });
    await runToEnd(client.trigger(body));
    expect(sent).toHaveLength(2);
    expect(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1);
    expect((sent[1]?.atMs ?? 0) > 0).toBe(true);
  });

  test('of 429 without Retry-After is a refusal for the rate', async () => {
    const { client, expectError } = createTestClient([json(429, { message: 'Too Many Requests' })], { startUrl });
    const error = await expectError(client.trigger(body));
    expect(error).toBeInstanceOf(RateLimitedComputeClientError);
    expect(error).toMatchObject({ retryAfterMs: undefined });
  });
});
