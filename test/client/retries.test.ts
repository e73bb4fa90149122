/** When requests are retried, and the delays. */
import { describe, expect, test } from 'vitest';
import { RateLimitedComputeClientError, type StepwellClient, TransportComputeClientError } from '../../lib/client/index.ts';
import { networkError, healthy, json, createTestClient, errorResponse, noResponse } from './test-client.ts';

const runId = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';
const accepted = json(202, { runId, status: 'pending', deploymentId: null });
const cancelled = json(200, { runId, status: 'cancelled' });
const published = json(201, { name: 'flow', version: 1, createdAt: '2026-01-01T00:00:00.000Z', warnings: [] });
const archived = json(200, { name: 'flow', archivedAt: '2026-01-01T00:00:00.000Z' });
const rerun = json(202, { runId, status: 'pending', deploymentId: null, rerunOf: runId });
const activated = json(200, {
  deploymentId: 'one',
  status: 'active',
  activatedAt: '2026-01-01T00:00:00.000Z',
  app: 'default',
  previousDeploymentId: null,
  revision: 1,
});
const revoked = json(200, { keyId: '12345678', revokedAt: '2026-01-01T00:00:00.000Z' });
const validated = json(200, { valid: true, findings: [] });

const transientFailures = [
  ['429', errorResponse(429, 'rate_limited')],
  ['500', errorResponse(500, 'internal')],
  ['502 with an unreadable body', () => new Response('<html>', { status: 502 })],
  ['503', errorResponse(503, 'unavailable')],
  ['504', errorResponse(504, 'unavailable')],
  ['a network error', networkError],
  ['an interrupted response', () => new Response(new ReadableStream({ start: (body) => body.error(new Error('reset')) }))],
  ['a time-out', noResponse],
] as const;

test.each(transientFailures)('a request is retried after %s', async (_what, failure) => {
  const { client, sent, runToEnd } = createTestClient([failure, healthy]);
  expect(await runToEnd(client.health())).toMatchObject({ healthy: true });
  expect(sent).toHaveLength(2);
});

test.each([400, 401, 403, 404, 405, 406, 409, 413, 302, 204])('a request is not retried after %i', async (status) => {
  const { client, sent, expectError } = createTestClient([() => new Response(status === 204 ? null : '{}', { status }), healthy]);
  expect(await expectError(client.health())).toMatchObject({ status });
  expect(sent).toHaveLength(1);
});

test('the default is two retries; then the last error is thrown', async () => {
  for (const [options, tries] of [
    [{}, 3],
    [{ retries: 0 }, 1],
    [{ retries: 4 }, 5],
  ] as const) {
    const { client, sent, expectError } = createTestClient([networkError], options);
    expect(await expectError(client.health())).toMatchObject({ kind: 'network', status: 0, cause: { message: 'fetch failed' } });
    expect(sent).toHaveLength(tries);
  }
});

describe('mutations', () => {
  const mutations: readonly (readonly [string, boolean, (client: StepwellClient) => Promise<unknown>, typeof accepted])[] = [
    ['trigger, which has an idempotency key', true, (client) => client.trigger({ workflowName: 'flow' }), accepted],
    ['cancelRun, which is idempotent', true, (client) => client.cancelRun(runId), cancelled],
    ['archiveWorkflow, which is idempotent', true, (client) => client.archiveWorkflow('flow'), archived],
    ['validateWorkflow, which only reads', true, (client) => client.validateWorkflow({ nodes: [] }), validated],
    ['createWorkflow', false, (client) => client.createWorkflow({ name: 'flow', nodes: [] }), published],
    ['publishVersion', false, (client) => client.publishVersion('flow', { nodes: [] }), published],
    ['rerunRun, which has an idempotency key', true, (client) => client.rerunRun(runId), rerun],
    ['activateDeployment, which is idempotent', true, (client) => client.activateDeployment('one'), activated],
    ['rollbackDeployment, which is not idempotent', false, (client) => client.rollbackDeployment(), activated],
    ['revokeKey, which is idempotent', true, (client) => client.revokeKey('12345678'), revoked],
    ['wakeRun', false, (client) => client.wakeRun(runId), json(202, { accepted: true, woken: [] })],
    ['resumeRun, which is not idempotent', false, (client) => client.resumeRun({ runId }), json(202, { accepted: true })],
  ];
  const notProcessed = transientFailures.filter(([what]) => what === '429');
  const maybeProcessed = transientFailures.filter(([what]) => what !== '429');

  for (const [name, isRepeatable, call, answer] of mutations) {
    test.each(notProcessed)(`${name}: retried after %s, because it was not processed`, async (_what, failure) => {
      const { client, sent, runToEnd } = createTestClient([failure, answer]);
      await runToEnd(call(client));
      expect(sent).toHaveLength(2);
    });
    test.each(maybeProcessed)(`${name}: retried after %s: ${String(isRepeatable)}`, async (_what, failure) => {
      const { client, sent, runToEnd, expectError } = createTestClient([failure, answer]);
      if (isRepeatable) await runToEnd(call(client));
      else expect(await expectError(call(client))).toMatchObject({ correlationId: expect.any(String) });
      expect(sent).toHaveLength(isRepeatable ? 2 : 1);
    });
  }

  test('all attempts of a start send the same key, body and correlation id; another start sends a new key', async () => {
    const { client, sent, runToEnd } = createTestClient([networkError, errorResponse(503, 'unavailable'), accepted]);
    await runToEnd(client.trigger({ workflowName: 'flow', input: { n: 1 } }));
    const abortedSignals = sent.map(({ headers, body }) => ({
      key: headers.get('idempotency-key'),
      id: headers.get('x-workflow-correlation-id'),
      body,
    }));
    expect(abortedSignals).toHaveLength(3);
    expect(new Set(abortedSignals.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(abortedSignals[0]?.key).not.toBe(abortedSignals[0]?.id);
    await runToEnd(client.trigger({ workflowName: 'flow', input: { n: 1 } }));
    expect(sent[3]?.headers.get('idempotency-key')).not.toBe(abortedSignals[0]?.key);
  });

  test('the caller’s idempotency key is sent unchanged', async () => {
    const { client, sent, runToEnd } = createTestClient([networkError, accepted]);
    await runToEnd(client.trigger({ workflowName: 'flow' }, { idempotencyKey: 'order 7' }));
    expect(sent.map(({ headers }) => headers.get('idempotency-key'))).toEqual(['order 7', 'order 7']);
  });

  test.each(['', ' order', '"order"', 'é', 'x'.repeat(256), 'a\nb'])('the invalid key %j is not sent', async (idempotencyKey) => {
    const { client, sent, expectError } = createTestClient([accepted]);
    expect(await expectError(client.trigger({ workflowName: 'flow' }, { idempotencyKey }))).toBeInstanceOf(TypeError);
    expect(sent).toHaveLength(0);
  });
});

describe('waits', () => {
  const waitsOf = async (steps: Parameters<typeof createTestClient>[0], options: Parameters<typeof createTestClient>[1]) => {
    const { client, sent, runToEnd } = createTestClient(steps, options);
    await runToEnd(client.health().catch(() => undefined));
    return sent.slice(1).map(({ atMs }, index) => atMs - (sent[index]?.atMs ?? 0));
  };

  test('double from 200 ms up to 5 s, with jitter', async () => {
    expect(await waitsOf([networkError], { retries: 7, random: () => 0.5 })).toEqual([100, 200, 400, 800, 1_600, 2_500, 2_500]);
    expect(await waitsOf([networkError], { retries: 2, random: () => 0 })).toEqual([0, 0]);
    expect(await waitsOf([networkError], { retries: 6, random: () => 0.999_999 })).toEqual([199, 399, 799, 1_599, 3_199, 4_999]);
  });

  test('are never shorter than Retry-After, in seconds or as a date', async () => {
    const rateLimited = (headers: Readonly<Record<string, string>>) => [errorResponse(429, 'rate_limited', headers), healthy];
    expect(await waitsOf(rateLimited({ 'retry-after': '7' }), {})).toEqual([7_100]);
    const dates = { date: 'Thu, 01 Jan 2026 00:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' };
    expect(await waitsOf(rateLimited(dates), {})).toEqual([9_100]);
    expect(await waitsOf(rateLimited({ 'retry-after': 'soon' }), {})).toEqual([100]);
    expect(await waitsOf([errorResponse(503, 'unavailable', { 'retry-after': '3' }), healthy], {})).toEqual([3_100]);
  });

  test('of more than a minute are returned as an error', async () => {
    const { client, sent, expectError } = createTestClient([
      errorResponse(429, 'rate_limited', { 'retry-after': '61' }),
      healthy,
    ]);
    const error = await expectError(client.health());
    expect(error).toBeInstanceOf(RateLimitedComputeClientError);
    expect(error).toMatchObject({ retryAfterMs: 61_000, status: 429 });
    expect(sent).toHaveLength(1);
  });
});

describe('timeouts and aborts', () => {
  test('each attempt has its own timeout, which aborts it', async () => {
    const signals: (AbortSignal | null | undefined)[] = [];
    const { client, sent, expectError } = createTestClient(
      [(_sent, signal) => (signals.push(signal), new Promise(() => undefined))],
      {
        timeoutMs: 1_000,
      },
    );
    const error = await expectError(client.health());
    expect(error).toBeInstanceOf(TransportComputeClientError);
    expect(error).toMatchObject({ kind: 'timeout', status: 0, message: 'getHealth: no response within 1000 ms' });
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 1_100, 2_300]);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true, true]);
  });

  test('the timeout also covers the body', async () => {
    const endlessBody = () => new Response(new ReadableStream({ start: () => undefined }));
    const { client, sent, runToEnd } = createTestClient([endlessBody, healthy]);
    await runToEnd(client.health());
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 10_100]);
  });

  test('the caller’s abort throws its reason before, during and between attempts', async () => {
    const reason = new Error('enough');
    const before = createTestClient([healthy]);
    expect(await before.expectError(before.client.health({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(before.sent).toHaveLength(0);

    for (const [steps, options] of [
      [[noResponse], {}],
      [[noResponse], { retries: 0 }],
      [[networkError, healthy], {}],
    ] as const) {
      const controller = new AbortController();
      const { client, sent, expectError, clock } = createTestClient(steps, options);
      const call = client.health({ signal: controller.signal });
      await new Promise((resolve) => setImmediate(resolve));
      controller.abort(reason);
      expect(await expectError(call)).toBe(reason);
      expect([sent.length, clock.now()]).toEqual([1, 0]);
    }
  });
});
