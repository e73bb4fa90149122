/** Embeds: what a token shows in pages of other sites, to whom, for how long, and what it never shows. */
import { describe, expect, test } from 'vitest';
import { embedPage } from '../../functions/library/embed-page.ts';
import { days, minutes, seconds } from '../../lib/engine/time.ts';
import { RateLimiter, embedRateLimit } from '../../lib/service/access/rate-limiter.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { maxEmbeds } from '../../lib/service/access/embeds.ts';
import { type Answered, type Http, http, instantGraph, openGraph, started, textIn } from './http.ts';

const origins = ['https://shop.example.com', 'https://intranet.example.com:8443'];
const outcome = ({ status, body }: Answered) => [status, body['code'] ?? ''] as const;

const setUp = async (change?: Parameters<typeof http>[0]) => {
  const api = http(change);
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

/** A pending run of the Workflow DevKit, whose workflow has any name of printable characters. */
const devKitRun = async (api: Http, key: string, workflowName: string): Promise<string> => {
  const registered = await api.call('POST', '/v1/world/apps', { key, body: { baseUrl: 'https://app.example.com' } });
  const runId = api.world.ids.runId(api.world.clock.now());
  const eventData = { deploymentId: registered.body['deploymentId'], workflowName, input: { $bytes: 'ZGV2bFsxXQ==' } };
  const body = { runId, data: { eventType: 'run_created', specVersion: 5, eventData } };
  expect((await api.call('POST', '/v1/world/events/create', { key, body })).status).toBe(200);
  return runId;
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

  test('of a workflow asks again once a minute after its newest run, and shows the next one', async () => {
    const { api, key, view, create } = await setUp();
    const path = textIn(await create({ workflowName: 'flow' }), 'path');
    await started(api, key);
    const ended = await view(`/${path}`);
    expect(ended.body).toContain('completed');
    expect(ended.headers?.['refresh']).toBe('60');
    api.world.clock.advance(seconds(60));
    await started(api, key, { graph: openGraph });
    expect((await view(`/${path}`)).body).toContain('running');
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

describe('an attacker', () => {
  /** Without what each answer has of its own. */
  const contentOf = ({ statusCode, headers, body }: Awaited<ReturnType<ReturnType<typeof embedPage>>>) =>
    JSON.stringify({ statusCode, headers, body }).replaceAll(/nonce(-|=\\")[\w-]{22}/g, 'nonce');

  test('cannot tell an unknown token from an expired, a revoked or a malformed one', async () => {
    const { api, key, view, create } = await setUp();
    const runId = await started(api, key);
    const [expired, revoked] = [await create({ runId, expiresInSeconds: 60 }), await create({ runId })];
    await api.call('DELETE', `/v1/embeds/${textIn(revoked, 'embedId')}`, { key });
    api.world.clock.advance(minutes(1));
    const tokens = [
      textIn(expired, 'path'),
      textIn(revoked, 'path'),
      `embed/se_${'x'.repeat(43)}`,
      'embed/se_short',
      `embed/${key}`,
    ];
    const answers = await Promise.all(tokens.map(async (path) => contentOf(await view(`/${path}`))));
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain('no longer shared');
  });

  test('sees nothing after the expiry, also where the view was read just before', async () => {
    const { api, key, view, create } = await setUp();
    const path = textIn(await create({ runId: await started(api, key), expiresInSeconds: 60 }), 'path');
    api.world.clock.advance(seconds(59));
    expect((await view(`/${path}`)).statusCode).toBe(200);
    api.world.clock.advance(seconds(1));
    expect((await view(`/${path}`)).statusCode).toBe(404);
  });

  test('opens no route with the token of an embed', async () => {
    const { api, key, create } = await setUp();
    const runId = await started(api, key);
    const token = textIn(await create({ runId }), 'path').slice('embed/'.length);
    for (const path of ['/v1/runs', `/v1/runs/${runId}`, '/v1/embeds', '/v1/session'])
      expect(outcome(await api.call('GET', path, { key: token })), path).toEqual([401, 'unauthorized']);
    const events = await api.call('GET', `/v1/runs/${runId}/events`, { query: { ticket: token } });
    expect(outcome(events)).toEqual([401, 'ticket_invalid']);
    const headers = { 'Sec-Fetch-Site': 'same-origin', Cookie: `__Host-stepwell=${token}` };
    expect(outcome(await api.call('GET', '/v1/runs', { headers }))).toEqual([401, 'session_invalid']);
    const exchange = { headers: { 'Sec-Fetch-Site': 'same-origin' }, body: { link: token } };
    expect(outcome(await api.call('POST', '/v1/sessions', exchange))[0]).toBeGreaterThanOrEqual(400);
  });

  test('opens no embed with a key, a link or a run id', async () => {
    const { api, key, view } = await setUp();
    const runId = await started(api, key);
    const link = textIn(await api.call('POST', '/v1/sessions/links', { key }), 'link');
    for (const secret of [key, link, runId]) expect((await view(`/embed/${secret}`)).statusCode).toBe(404);
    expect((await view('/embed/', { 'X-Forwarded-Proto': 'https', Authorization: `Bearer ${key}` })).statusCode).toBe(404);
  });

  test('sees the run of each token only, from one warm function', async () => {
    const { api, key, view, create } = await setUp();
    const [ended, open] = [await started(api, key), await started(api, key, { graph: openGraph, name: 'other' })];
    const paths = [textIn(await create({ runId: ended }), 'path'), textIn(await create({ runId: open }), 'path')];
    const read = async () => Promise.all(paths.map(async (path) => String((await view(`/${path}`)).body)));
    for (const [first = '', second = ''] of [await read(), await read()]) {
      expect(first).toContain('completed');
      expect(second).toContain('running');
    }
  });

  test('writes no markup by the name of a workflow, and reads no path of a module in it', async () => {
    const { api, key, view, create } = await setUp();
    const names = [
      [`workflow//./internal/path//"><script>alert(1)</script>`, '&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;'],
      [`workflow//./internal/path//<img/src=x/onerror='a()'>&lt;`, '&#60;img/src=x/onerror=&#39;a()&#39;&#62;&#38;lt;'],
      [`workflow//./internal/path//__proto__`, '__proto__'],
      [`workflow//./internal/path//`, 'workflow'],
      [`workflow//${'x'.repeat(500)}`, 'x'.repeat(500)],
    ] as const;
    for (const [name, text] of names) {
      const shown = await view(`/${textIn(await create({ runId: await devKitRun(api, key, name) }), 'path')}`);
      expect(shown.statusCode).toBe(200);
      expect(shown.body).toContain(`<h1>${text}</h1>`);
      for (const other of ['<script', '<img', 'internal/path']) expect(shown.body).not.toContain(other);
    }
  });

  test.each(['constructor', 'toString', 'hasOwnProperty'])('gets nothing inherited by the name %s', async (workflowName) => {
    const { view, create } = await setUp();
    const { body } = await view(`/${textIn(await create({ workflowName }), 'path')}`);
    expect(body).toContain(`<h1>${workflowName}</h1>\n<p>has no run</p>`);
  });

  test.each(['__proto__', '<b>', 'abc\u202Egpj', 'a b', 'x'.repeat(129)])(
    'creates none for the name %j',
    async (workflowName) => {
      const { create } = await setUp();
      expect(outcome(await create({ workflowName }))).toEqual([400, 'invalid_request']);
    },
  );

  test('who floods an embed stops its frames for a minute, and not until their pages are loaded again', async () => {
    const { api, key, view, create, serve } = await setUp();
    const path = textIn(await create({ runId: await started(api, key, { graph: openGraph }) }), 'path');
    for (let count = 0; count < embedRateLimit / 10; count += 1) await view(`/${path}`, undefined, serve());
    const refused = await view(`/${path}`, undefined, serve());
    // A frame of its origins shows this text, and with it loads itself again.
    expect(refused.headers).toMatchObject({ refresh: '60', 'cache-control': 'no-store' });
    expect(String(refused.headers?.['content-security-policy'])).toContain(`frame-ancestors ${origins.join(' ')}`);
    expect(refused.body).not.toContain('flow</h1>');
    api.world.clock.advance(minutes(1));
    expect((await view(`/${path}`, undefined, serve())).statusCode).toBe(200);
  });

  test('gets no cookie read or set, and no answer that depends on the host', async () => {
    const { api, key, view, create } = await setUp();
    const path = textIn(await create({ runId: await started(api, key) }), 'path');
    const hostile = {
      'X-Forwarded-Proto': 'https',
      Host: 'evil.example',
      Origin: 'https://evil.example',
      Referer: 'https://evil.example/',
      'X-Forwarded-Host': 'evil.example',
      Cookie: `__Host-stepwell=ss_${'x'.repeat(43)}`,
    };
    const shown = await view(`/${path}`, hostile);
    expect(contentOf(shown)).toBe(contentOf(await view(`/${path}`)));
    for (const name of ['set-cookie', 'access-control-allow-origin', 'location', 'link'])
      expect(shown.headers).not.toHaveProperty(name);
  });
});

test('where the store is unavailable, the frame says so and tries again', async () => {
  const { view, serve } = await setUp((world) => ({
    embeds: {
      put: (embed) => world.embeds.put(embed),
      list: (scope) => world.embeds.list(scope),
      delete: (scope, id) => world.embeds.delete(scope, id),
      embed: () => Promise.reject(new Unavailable('the control table')),
    },
  }));
  const refused = await view(`/embed/se_${'x'.repeat(43)}`, undefined, serve());
  expect([refused.statusCode, refused.headers?.['refresh'], refused.headers?.['retry-after']]).toEqual([503, '10', '10']);
  // The origins are not known, and the text is the same for every token.
  expect(String(refused.headers?.['content-security-policy'])).toMatch(/frame-ancestors \*$/);
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
