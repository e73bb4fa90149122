/** Embeds: what a token shows in pages of other sites, to whom, for how long, and what it never shows. */
import { describe, expect, test } from 'vitest';
import { embedPage } from '../../functions/library/embed-page.ts';
import { days, minutes, seconds } from '../../lib/engine/time.ts';
import { RateLimiter, embedRateLimit } from '../../lib/service/access/rate-limiter.ts';
import { maxEmbeds } from '../../lib/service/access/embeds.ts';
import { type Answered, http, instantGraph, openGraph, started, textIn } from './http.ts';

const origins = ['https://shop.example.com', 'https://intranet.example.com:8443'];
const outcome = ({ status, body }: Answered) => [status, body['code'] ?? ''] as const;

const setUp = async () => {
  const api = http();
  const key = await api.key(['admin']);
  const deps = { ...api.world, settings: { requiresHttps: true, retentionMs: days(30), idempotencyMs: days(1) } };
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  const serve = () => embedPage({ decider: { deps, plans: expect.anything() }, rates: new RateLimiter(api.world), logger });
  const own = serve();
  const view = (path: string, headers: Readonly<Record<string, string>> = { 'X-Forwarded-Proto': 'https' }, page = own) =>
    page({ httpMethod: 'GET', path, headers });
  const create = (body: object, by = key) => api.call('POST', '/v1/embeds', { key: by, body: { origins, ...body } });
  return { api, key, view, create, serve };
};

describe('an embed', () => {
  test('shows the name, the status and the times of a run to the pages of its origins, and nothing else', async () => {
    const { api, key, view, create } = await setUp();
    const runId = await started(api, key, { input: { secret: 'hunter2' } });
    const created = await create({ runId });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    const shown = await view(`/${textIn(created, 'path')}`);
    expect(shown.statusCode).toBe(200);
    expect(shown.body).toContain('<h1>flow</h1>');
    expect(shown.body).toContain('completed');
    for (const other of ['hunter2', runId, key, '<script', 'wrun_', 'acme']) expect(shown.body).not.toContain(other);
    const policy = String(shown.headers?.['content-security-policy']);
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'nonce-[\w-]{22}'; base-uri 'none'; form-action 'none'; frame-ancestors /,
    );
    expect(policy.split('frame-ancestors ')[1]).toBe(origins.join(' '));
    expect(shown.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(shown.headers?.['set-cookie']).toBeUndefined();
    // The run has ended, so the page asks no more.
    expect(shown.headers?.['refresh']).toBeUndefined();
  });

  test('of a workflow shows its newest run, and asks again while it is open', async () => {
    const { api, key, view, create } = await setUp();
    const path = textIn(await create({ workflowName: 'flow' }), 'path');
    expect((await view(`/${path}`)).body).toContain('has no run');
    await started(api, key, { graph: openGraph });
    api.world.clock.advance(seconds(6));
    const { body, headers } = await view(`/${path}`);
    expect(body).toContain('running');
    expect(headers?.['refresh']).toBe('10');
  });

  test('is listed without its token, and revoked at once', async () => {
    const { api, key, view, create, serve } = await setUp();
    const created = await create({ runId: await started(api, key) });
    const [path, id] = [textIn(created, 'path'), textIn(created, 'embedId')];
    const listed = await api.call('GET', '/v1/embeds', { key });
    expect(listed.body['data']).toMatchObject([{ embedId: id, origins }]);
    const kept = JSON.stringify([listed.body, [...api.world.audit.entries.values()], api.logs]);
    expect(kept).not.toContain(path.slice('embed/'.length));
    expect((await view(`/${path}`)).statusCode).toBe(200);
    expect(outcome(await api.call('DELETE', `/v1/embeds/${id}`, { key }))).toEqual([200, '']);
    expect(outcome(await api.call('DELETE', `/v1/embeds/${id}`, { key }))).toEqual([404, 'not_found']);
    expect((await view(`/${path}`, undefined, serve())).statusCode).toBe(404);
    api.world.clock.advance(seconds(6));
    const gone = await view(`/${path}`);
    expect(gone.statusCode).toBe(404);
    expect(gone.headers?.['content-security-policy']).toContain("frame-ancestors 'none'");
    const actions = [...api.world.audit.entries.values()].map(({ action, result }) => [action, result]);
    expect(actions.slice(-3)).toEqual([
      ['embeds.create', 'success'],
      ['embeds.revoke', 'success'],
      ['embeds.revoke', 'failure'],
    ]);
  });

  test('ends at its expiry', async () => {
    const { api, key, view, create } = await setUp();
    const path = textIn(await create({ runId: await started(api, key), expiresInSeconds: 60 }), 'path');
    api.world.clock.advance(minutes(1));
    expect((await view(`/${path}`)).statusCode).toBe(404);
    expect((await api.call('GET', '/v1/embeds', { key })).body['data']).toEqual([]);
  });

  test('has a limit of views of its own, and the key is not used up', async () => {
    const { api, key, view, create, serve } = await setUp();
    const path = textIn(await create({ runId: await started(api, key) }), 'path');
    for (let count = 0; count < embedRateLimit / 10; count += 1)
      expect((await view(`/${path}`, undefined, serve())).statusCode).toBe(200);
    const refused = await view(`/${path}`, undefined, serve());
    expect([refused.statusCode, refused.headers?.['retry-after']]).toEqual([429, '60']);
    expect((await api.call('GET', '/v1/embeds', { key })).status).toBe(200);
  });
});

describe('it is refused', () => {
  test.each(['se_short', `se_${'x'.repeat(43)}`, `sl_${'x'.repeat(43)}`, '', '../v1/keys', '%00', `se_${'x'.repeat(43)}/`])(
    'the token %j',
    async (token) => {
      const { view } = await setUp();
      expect((await view(`/embed/${token}`)).statusCode).toBe(404);
    },
  );

  test('over plain HTTP, and with another method', async () => {
    const { view, serve } = await setUp();
    expect((await view(`/embed/se_${'x'.repeat(43)}`, { 'X-Forwarded-Proto': 'http' })).statusCode).toBe(400);
    expect((await serve()({ httpMethod: 'POST', path: '/embed/x', headers: {} })).statusCode).toBe(405);
  });

  test.each([
    ['without origins', { origins: [] }],
    ['with a pattern', { origins: ['https://*.example.com'] }],
    ['with an origin over plain HTTP', { origins: ['http://shop.example.com'] }],
    ['with a directive of the policy', { origins: ["https://a.example; script-src 'unsafe-inline'"] }],
    ['for both', { runId: 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV' }],
    ['for two years', { expiresInSeconds: 63_072_000 }],
  ])('%s', async (_what, body) => {
    const { create } = await setUp();
    expect(outcome(await create({ workflowName: 'flow', ...body }))).toEqual([400, 'invalid_request']);
  });

  test('for a run of another project, and without runs:write', async () => {
    const { api, key, create } = await setUp();
    const runId = await started(api, key, { graph: instantGraph() });
    expect(outcome(await create({ runId }, await api.key(['admin'], { project: 'other' })))).toEqual([404, 'not_found']);
    expect(outcome(await create({ runId }, await api.key(['runs:read'])))).toEqual([403, 'missing_scope']);
    const id = textIn(await create({ runId }), 'embedId');
    const foreign = { key: await api.key(['admin'], { project: 'other' }) };
    expect(outcome(await api.call('DELETE', `/v1/embeds/${id}`, foreign))).toEqual([404, 'not_found']);
  });

  test('beyond the limit of the project', async () => {
    const { api, key, create } = await setUp();
    const runId = await started(api, key);
    const unlimited = await api.key(['admin'], { rateLimitPerMinute: null });
    for (let count = 0; count < maxEmbeds; count += 1) expect((await create({ runId }, unlimited)).status).toBe(201);
    expect(outcome(await create({ runId }, unlimited))).toEqual([409, 'too_many_embeds']);
  });
});
