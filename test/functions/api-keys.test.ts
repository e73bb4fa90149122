/** What happens at the door: keys, rates, the audit trail, correlation. */
import { describe, expect, test } from 'vitest';
import { newKey } from '../../lib/api/auth.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';
import { instant, minutes, seconds } from '../../lib/engine/time.ts';
import type { ApiKey } from '../../lib/ports/control.ts';
import { type Http, http, instantGraph, openGraph, started } from './http.ts';

describe('keys', () => {
  test('a well-formed key with another secret, or for another environment, is refused', async () => {
    const api = http();
    const bytes = (fill: number) => (count: number) => new Uint8Array(count).fill(count === 10 ? 7 : fill);
    const own = newKey(environment('test'), bytes(1));
    const scope = { projectId: projectId('acme'), environment: environment('test') };
    await api.world.keys.putKey({ ...own, ...scope, scopes: ['admin'], createdAt: api.world.clock.now() });
    const ask = async (key: string) => (await api.call('GET', '/v1/runs', { key })).status;
    expect(await ask(own.text)).toBe(200);
    expect(await ask(newKey(environment('test'), bytes(2)).text)).toBe(401);
    expect(await ask(newKey(environment('live'), bytes(1)).text)).toBe(401);
    expect([...api.world.audit.entries.values()]).toMatchObject([
      { keyId: own.keyId, metadata: { why: 'wrong' } },
      { keyId: own.keyId, metadata: { why: 'wrong' } },
    ]);
  });

  test('an expired key and a revoked one are refused', async () => {
    const api = http();
    const soon = instant(api.world.clock.now() + 1_000);
    const key = await api.key(['admin'], { expiresAt: soon });
    expect((await api.call('GET', '/v1/runs', { key })).status).toBe(200);
    api.world.clock.set(soon);
    expect((await api.call('GET', '/v1/runs', { key })).status).toBe(401);
    const revoked = await api.key(['admin'], { revokedAt: soon });
    expect((await api.call('GET', '/v1/runs', { key: revoked })).status).toBe(401);
  });

  test('a revocation is seen within 30 s by a function that knew the key', async () => {
    let revokedAt: ApiKey['revokedAt'];
    const api = http((world) => ({
      keys: Object.assign(Object.create(world.keys), {
        putKey: world.keys.putKey.bind(world.keys),
        key: async (...asked: Parameters<typeof world.keys.key>) => {
          const key = await world.keys.key(...asked);
          return key === undefined || revokedAt === undefined ? key : { ...key, revokedAt };
        },
      }),
    }));
    const key = await api.key(['admin']);
    expect((await api.call('GET', '/v1/runs', { key })).status).toBe(200);
    revokedAt = api.world.clock.now();
    api.world.clock.advance(seconds(30));
    expect((await api.call('GET', '/v1/runs', { key })).status).toBe(401);
  });
});

describe('rates', () => {
  const askTimes = async (api: Http, key: string, times: number) => {
    const statuses: number[] = [];
    for (let time = 0; time < times; time += 1) statuses.push((await api.call('GET', '/v1/workflows', { key })).status);
    return {
      passed: statuses.filter((status) => status === 200).length,
      limited: statuses.filter((status) => status === 429).length,
    };
  };
  const counting = () => {
    const writes = { count: 0 };
    const api = http((world) => ({
      rates: { take: (...asked: Parameters<typeof world.rates.take>) => ((writes.count += 1), world.rates.take(...asked)) },
    }));
    return { api, writes };
  };

  test('120 a minute pass by default, with one write for ten; the next minute is a new one', async () => {
    const { api, writes } = counting();
    const key = await api.key(['admin']);
    expect(await askTimes(api, key, 130)).toEqual({ passed: 120, limited: 10 });
    expect(writes.count).toBe(12);
    api.world.clock.advance(minutes(1));
    expect(await askTimes(api, key, 1)).toEqual({ passed: 1, limited: 0 });
  });

  test('a key may have its own limit, or none', async () => {
    const { api, writes } = counting();
    expect(await askTimes(api, await api.key(['admin'], { rateLimitPerMinute: 7 }), 10)).toEqual({ passed: 7, limited: 3 });
    // Not a multiple of what is taken at once: the last writing grants only a part.
    expect(await askTimes(api, await api.key(['admin'], { rateLimitPerMinute: 25 }), 30)).toEqual({ passed: 25, limited: 5 });
    writes.count = 0;
    expect(await askTimes(api, await api.key(['admin'], { rateLimitPerMinute: null }), 150)).toEqual({ passed: 150, limited: 0 });
    expect(writes.count).toBe(0);
  });

  test('the window is shared by all functions, so together they pass no more', async () => {
    const first = http();
    const key = await first.key(['admin'], { rateLimitPerMinute: 25 });
    const second = http(() => ({ rates: first.world.rates, keys: first.world.keys }));
    const one = await askTimes(first, key, 15);
    const two = await askTimes(second, key, 25);
    expect(one.passed + two.passed).toBeLessThanOrEqual(25);
    expect(one.passed + two.passed).toBeGreaterThan(20);
  });

  test.each([25, 120, 1_000])('of %i a minute, one of four functions refuses at most three leases early', async (limit) => {
    const first = http();
    const key = await first.key(['admin'], { rateLimitPerMinute: limit });
    const others = Array.from({ length: 3 }, () => http(() => ({ rates: first.world.rates, keys: first.world.keys })));
    const statuses: number[] = [];
    const ask = async (api: Http) => void statuses.push((await api.call('GET', '/v1/workflows', { key })).status);
    for (let round = 0; round < 2; round += 1) for (const api of [first, ...others]) await ask(api);
    // What the others still hold is lost to the one that is asked from now on.
    for (let time = 0; time < limit; time += 1) await ask(first);
    const passed = statuses.filter((status) => status === 200).length;
    expect(passed).toBeLessThanOrEqual(limit);
    expect(passed).toBeGreaterThanOrEqual(limit - 3 * Math.min(10, Math.floor(limit / 10)));
    expect(statuses.at(-1)).toBe(429);
  });

  test('requests without the scope count, requests without a key do not; headers show the remaining requests', async () => {
    const api = http();
    const key = await api.key(['runs:read'], { rateLimitPerMinute: 2 });
    await api.call('GET', '/v1/runs');
    const forbidden = await api.call('GET', '/v1/workflows', { key });
    expect(forbidden.status).toBe(403);
    expect(forbidden.headers).toMatchObject({ 'ratelimit-policy': '"default";q=2;w=60', ratelimit: '"default";r=1;t=60' });
    api.world.clock.advance(seconds(20));
    expect((await api.call('GET', '/v1/runs', { key })).headers).toMatchObject({ ratelimit: '"default";r=0;t=40' });
    const limited = await api.call('GET', '/v1/runs', { key });
    expect([limited.status, limited.headers['retry-after']]).toEqual([429, '40']);
  });
});

describe('the audit trail', () => {
  const entriesOf = (api: Http) => [...api.world.audit.entries.values()];

  test('every mutation is one entry, and reading is none', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: openGraph });
    const headers = { 'Idempotency-Key': 'start-flow-{}', 'x-workflow-correlation-id': 'corr-1' };
    await api.call('POST', '/v1/runs', { key, headers, body: { workflowName: 'flow', input: {} } });
    await api.call('POST', `/v1/runs/${runId}/cancel`, { key });
    await api.call('POST', '/v1/workflows/flow/versions', { key, body: instantGraph() });
    await api.call('DELETE', '/v1/workflows/nothing', { key });
    for (const path of ['/v1/runs', '/v1/workflows', `/v1/runs/${runId}`]) await api.call('GET', path, { key });
    expect(entriesOf(api)).toMatchObject([
      { action: 'workflows.create', resource: 'workflow/flow', result: 'success', ip: '192.0.2.1', userAgent: 'test' },
      { action: 'runs.create', resource: `run/${runId}`, result: 'success', metadata: { lane: 'public', deduped: false, runId } },
      { action: 'runs.create', metadata: { deduped: true, runId, correlationId: 'corr-1' } },
      { action: 'runs.cancel', resource: `run/${runId}`, result: 'success' },
      { action: 'workflows.publish', result: 'success' },
      { action: 'workflows.archive', result: 'failure', metadata: { code: 'workflow_not_found', status: 404 } },
    ]);
    // The key of a start may be a secret of the caller's: only its digest is kept.
    expect(JSON.stringify(entriesOf(api))).not.toContain('start-flow-{}');
  });

  test('every failed authentication is one entry, which names the key where one is known', async () => {
    const api = http();
    const good = await api.key(['admin']);
    const other = await api.key(['admin']);
    const [prefix, place, id] = good.split('_');
    await api.call('GET', '/v1/runs');
    await api.call('GET', '/v1/runs', { key: `${prefix}_${place}_${id}_wrong` });
    const revoked = await api.key(['admin'], { revokedAt: api.world.clock.now() });
    await api.call('GET', '/v1/runs', { key: revoked });
    expect(entriesOf(api)).toMatchObject([
      { action: 'auth.failure', result: 'failure', keyId: null, scope: null, metadata: { why: 'missing' } },
      { action: 'auth.failure', keyId: null, metadata: { why: 'malformed' } },
      { action: 'auth.failure', keyId: revoked.split('_')[2], scope: { projectId: 'acme' }, metadata: { why: 'revoked' } },
    ]);
    for (const secret of [good, other, revoked]) {
      const kept = JSON.stringify([entriesOf(api), api.logs]);
      expect(kept).not.toContain(secret.split('_')[3]);
    }
  });

  test('a request whose audit entry cannot be written does not succeed', async () => {
    const api = http(() => ({ audit: Object.assign(http().world.audit, { record: () => Promise.reject(new Error('no')) }) }));
    const key = await api.key(['admin']);
    expect((await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } })).status).toBe(500);
  });
});

describe('correlation', () => {
  test("the caller's id is kept where it is fit, and any other is replaced", async () => {
    const api = http();
    const header = 'X-Workflow-Correlation-Id';
    const idFor = async (given: string) =>
      (await api.call('GET', '/v1/health', { headers: { [header]: given } })).headers['x-workflow-correlation-id'];
    expect(await idFor('order-1:a.b_c')).toBe('order-1:a.b_c');
    expect(await idFor('a b')).toBe('a b');
    for (const unfit of ['', 'a\u0007b', 'naïve', 'x'.repeat(129)]) {
      const given = await idFor(unfit);
      expect(given).toMatch(/^[0-9a-f-]{36}$/);
      expect(given).not.toBe(unfit);
    }
  });

  test('the log line of a request carries it', async () => {
    const api = http();
    await api.call('GET', '/v1/health', { headers: { 'x-workflow-correlation-id': 'abc' } });
    expect(api.logs).toMatchObject([{ level: 'info', facts: { correlationId: 'abc', operation: 'getHealth', status: 200 } }]);
  });
});

test('a body that the gateway has encoded is the same body', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const plain = await api.call('POST', '/v1/workflows/validate', { key, body: instantGraph() });
  const encoded = await api.call('POST', '/v1/workflows/validate', {
    key,
    text: Buffer.from(JSON.stringify(instantGraph())).toString('base64'),
    isBase64Encoded: true,
  });
  expect(encoded.body).toEqual(plain.body);
});
