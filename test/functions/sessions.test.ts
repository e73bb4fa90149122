/** People sign in with a link or a key; the cookie of their session works where a key does, for the pages of the API alone. */
import { describe, expect, test } from 'vitest';
import { type Route } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';
import { environment, keyId, projectId } from '../../lib/engine/ids.ts';
import { after, between, hours, instant, iso, minutes, seconds } from '../../lib/engine/time.ts';
import { type KeyScope, keyScopes } from '../../lib/ports/control.ts';
import { keySessionsRateLimit, sessionRateLimit } from '../../lib/service/access/rate-limiter.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { streamIn } from './event-stream.ts';
import { type Answered, type Http, http, openGraph, started, textIn } from './http.ts';

const samePage = { Host: 'api.example.com', 'Sec-Fetch-Site': 'same-origin' };
const entriesOf = (api: Http) => [...api.world.audit.entries.values()];
const keyIdOf = (key: string) => keyId(key.split('_')[2] ?? '');

const exchange = (api: Http, link: string, headers: Readonly<Record<string, string>> = samePage): Promise<Answered> =>
  api.call('POST', '/v1/sessions/exchange', { body: { link }, headers });

/** The header Cookie that a browser sends after this response. */
const cookieOf = ({ headers }: Answered): string => (headers['set-cookie'] ?? '').split(';')[0] ?? '';

const signedIn = async (scopes: readonly KeyScope[] = ['admin'], more: Parameters<Http['key']>[1] = {}, api: Http = http()) => {
  const key = await api.key(scopes, more);
  const link = textIn(await api.call('POST', '/v1/sessions/links', { key }), 'link');
  const answer = await exchange(api, link);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  const cookie = cookieOf(answer);
  const ask = (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: unknown) =>
    api.call(method, path, { headers: { ...samePage, Cookie: cookie, ...headers }, ...(body === undefined ? {} : { body }) });
  return { api, key, link, cookie, ask, session: answer.body };
};

const outcome = ({ status, body }: Answered) => [status, body['code'] ?? ''] as const;

describe('signing in', () => {
  test('a link starts a session with a cookie for this host, over HTTPS, out of reach of scripts', async () => {
    const api = http();
    const key = await api.key(['runs:read', 'admin']);
    const made = await api.call('POST', '/v1/sessions/links', { key });
    expect(made.body).toMatchObject({ expiresAt: iso(after(api.world.clock.now(), seconds(60))) });
    const { status, body, headers } = await exchange(api, textIn(made, 'link'));
    expect(status).toBe(201);
    expect(headers['set-cookie']).toMatch(
      /^__Host-stepwell=ss_[A-Za-z0-9_-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
    const now = api.world.clock.now();
    expect(body).toEqual({
      id: body['id'],
      subject: `key:${keyIdOf(key)}`,
      keyId: keyIdOf(key),
      projectId: 'acme',
      environment: 'test',
      scopes: keyScopes.filter((scope) => scope !== 'admin' && scope !== 'world:proxy'),
      expiresAt: iso(after(now, hours(12))),
      idleExpiresAt: iso(after(now, hours(1))),
    });
  });

  test('a key starts a session too, and no record or log contains the key', async () => {
    const api = http();
    const key = await api.key(['runs:read']);
    const answer = await api.call('POST', '/v1/sessions', { body: { key }, headers: samePage });
    expect(answer.status).toBe(201);
    const who = await api.call('GET', '/v1/session', { headers: { ...samePage, Cookie: cookieOf(answer) } });
    expect(who.body).toEqual(answer.body);
    expect(who.body['scopes']).toEqual(['runs:read']);
    const kept = JSON.stringify([entriesOf(api), api.logs]);
    for (const secret of [key.split('_')[3] ?? '', cookieOf(answer).split('=')[1] ?? '']) expect(kept).not.toContain(secret);
  });

  test('an invalid key is refused like in a header, and leaves an entry without it', async () => {
    const api = http();
    const good = await api.key(['admin']);
    const revoked = await api.key(['admin'], { revokedAt: api.world.clock.now() });
    for (const key of [
      revoked,
      `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`,
      'x',
      await http().key(['admin'], { env: 'live' }),
    ])
      expect(outcome(await api.call('POST', '/v1/sessions', { body: { key }, headers: samePage }))).toEqual([
        401,
        'unauthorized',
      ]);
    expect(entriesOf(api).map(({ action, metadata }) => [action, metadata['why']])).toEqual(
      ['revoked', 'malformed', 'malformed', 'wrong'].map((why) => ['auth.failure', why]),
    );
  });

  test('a key that cannot read runs starts no session and gets no link', async () => {
    const api = http();
    const key = await api.key(['trigger:write', 'world:proxy']);
    expect(outcome(await api.call('POST', '/v1/sessions', { body: { key }, headers: samePage }))).toEqual([403, 'missing_scope']);
    expect(outcome(await api.call('POST', '/v1/sessions/links', { key }))).toEqual([403, 'missing_scope']);
  });

  test('counts against the rate of the key', async () => {
    const api = http();
    const key = await api.key(['runs:read'], { rateLimitPerMinute: 2 });
    const ask = () => api.call('POST', '/v1/sessions', { body: { key }, headers: samePage });
    expect([(await ask()).status, (await ask()).status]).toEqual([201, 201]);
    const refused = await ask();
    expect(outcome(refused)).toEqual([429, 'rate_limited']);
    expect(refused.headers['retry-after']).toBeDefined();
    expect(refused.headers['set-cookie']).toBeUndefined();
  });

  test('over plain HTTP on one machine, the cookie is named by the port', async () => {
    const api = http(() => ({}), undefined, [], false);
    const key = await api.key(['admin']);
    const local = { 'X-Forwarded-Proto': 'http', Host: '127.0.0.1:4700', Origin: 'http://127.0.0.1:4700' };
    const link = textIn(await api.call('POST', '/v1/sessions/links', { key, headers: local }), 'link');
    const answer = await exchange(api, link, local);
    expect(answer.headers['set-cookie']).toMatch(/^stepwell_4700=ss_[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    const Cookie = cookieOf(answer);
    expect((await api.call('GET', '/v1/session', { headers: { ...local, Cookie } })).status).toBe(200);
    // Another port of this host receives the cookie too, and its own has another name.
    const other = { ...local, Host: '127.0.0.1:4800', Origin: 'http://127.0.0.1:4800', Cookie };
    expect(outcome(await api.call('GET', '/v1/session', { headers: other }))).toEqual([401, 'unauthorized']);
  });

  test.each(['127.0.0.1:4700\r\nSet-Cookie: a=b', 'x; Domain=evil.example:1', ':99999999', 'host'])(
    'the host %j adds nothing to the cookie',
    async (Host) => {
      const api = http(() => ({}), undefined, [], false);
      const local = { 'X-Forwarded-Proto': 'http', Host, 'Sec-Fetch-Site': 'same-origin' };
      const link = textIn(await api.call('POST', '/v1/sessions/links', { key: await api.key(['admin']) }), 'link');
      const { headers } = await exchange(api, link, local);
      expect(headers['set-cookie']).toMatch(
        /^stepwell_\d{1,5}=ss_[A-Za-z0-9_-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
      );
    },
  );
});

describe('attacks on a link', () => {
  test('a link works once', async () => {
    const { api, link } = await signedIn();
    const again = await exchange(api, link);
    expect(outcome(again)).toEqual([401, 'link_invalid']);
    expect(again.headers['set-cookie']).toBeUndefined();
    expect(entriesOf(api).at(-1)).toMatchObject({ action: 'auth.failure', metadata: { why: 'link_used' } });
  });

  test('ten concurrent exchanges of one link start one session', async () => {
    const api = http();
    const link = textIn(await api.call('POST', '/v1/sessions/links', { key: await api.key(['admin']) }), 'link');
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(api, link)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ headers }) => headers['set-cookie'] !== undefined)).toHaveLength(1);
  });

  test('a link works for a minute', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const newLink = async () => textIn(await api.call('POST', '/v1/sessions/links', { key }), 'link');
    const [early, late] = [await newLink(), await newLink()];
    api.world.clock.advance(seconds(59));
    expect((await exchange(api, early)).status).toBe(201);
    api.world.clock.advance(seconds(1));
    expect(outcome(await exchange(api, late))).toEqual([401, 'link_invalid']);
    expect(entriesOf(api).at(-1)?.metadata['why']).toBe('link_expired');
  });

  test('a link dies with its key', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const link = textIn(await api.call('POST', '/v1/sessions/links', { key }), 'link');
    await revoke(api, key);
    expect(outcome(await exchange(api, link))).toEqual([401, 'link_invalid']);
  });

  test('a malformed link asks no store', async () => {
    let reads = 0;
    const api = http((world) => ({
      sessions: overrideMethods(world.sessions, {
        link: async () => {
          reads += 1;
          return undefined;
        },
      }),
    }));
    for (const link of ['x', 'sl_short', `ss_${'x'.repeat(43)}`, `sl_${'x'.repeat(44)}`, `sl_${'/'.repeat(43)}`])
      expect(outcome(await exchange(api, link))).toEqual([401, 'link_invalid']);
    expect(reads).toBe(0);
  });

  test('a session creates no link: it could not end', async () => {
    const { ask } = await signedIn();
    expect(outcome(await ask('POST', '/v1/sessions/links'))).toEqual([401, 'unauthorized']);
  });

  test.each([
    ['another site', { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' }],
    ['another port of the host', { 'Sec-Fetch-Site': 'same-site', Origin: 'https://api.example.com:444' }],
    ['another port, in a browser without Sec-Fetch-Site', { Origin: 'https://api.example.com:444' }],
    ['the same host without TLS', { Origin: 'http://api.example.com' }],
    ['a sandboxed page', { Origin: 'null' }],
    ['a typed address', { 'Sec-Fetch-Site': 'none' }],
    ['no page', {}],
  ])('a page of %s cannot sign a user in to another session', async (_name, headers) => {
    const api = http();
    const key = await api.key(['admin']);
    const link = textIn(await api.call('POST', '/v1/sessions/links', { key }), 'link');
    const from = { Host: 'api.example.com', ...headers };
    expect(outcome(await exchange(api, link, from))).toEqual([403, 'cross_origin']);
    expect(outcome(await api.call('POST', '/v1/sessions', { body: { key }, headers: from }))).toEqual([403, 'cross_origin']);
    // The attempt did not use the link.
    expect((await exchange(api, link)).status).toBe(201);
  });
});

/** Long before the time at which every stream ends. */
const endsSoon = async (api: Http, stream: ReturnType<typeof streamIn>) => {
  const from = api.world.clock.now();
  await stream.rest();
  expect(between(from, api.world.clock.now())).toBeLessThanOrEqual(seconds(30));
};

const revoke = async (api: Http, key: string) => {
  const found = await api.world.keys.key(keyIdOf(key));
  if (found === undefined) throw new Error('no such key');
  await api.world.keys.revokeKey(found, found.keyId, api.world.clock.now());
  api.world.clock.advance(seconds(16));
};

describe('attacks on a session', () => {
  test.each([
    ['a page of another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['a page of another port', { 'Sec-Fetch-Site': 'same-site' }],
    ['another port, in a browser without Sec-Fetch-Site', { 'Sec-Fetch-Site': '', Origin: 'https://api.example.com:444' }],
    ['a link on another page', { 'Sec-Fetch-Site': 'none' }],
    ['a stale browser that sends neither header', { 'Sec-Fetch-Site': '' }],
    ['another site that names its Origin after the host', { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://api.example.com' }],
  ])('the cookie does not count in a request of %s, reads too', async (_name, headers) => {
    const { api, cookie, key } = await signedIn();
    const runId = await started(api, key, { graph: openGraph });
    const given = { Host: 'api.example.com', Cookie: cookie, ...headers };
    const sent = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
    for (const [method, path] of [
      ['GET', '/v1/runs'],
      ['GET', `/v1/runs/${runId}/events`],
      ['POST', `/v1/runs/${runId}/cancel`],
      ['DELETE', '/v1/session'],
    ] as const)
      expect(outcome(await api.call(method, path, { headers: sent }))).toEqual([403, 'cross_origin']);
    expect((await api.call('GET', '/v1/session', { headers: { ...samePage, Cookie: cookie } })).status).toBe(200);
  });

  test('an Origin that equals the host counts where a browser sends no Sec-Fetch-Site', async () => {
    const { api, cookie } = await signedIn();
    const headers = { Host: 'api.example.com', Origin: 'https://API.example.com', Cookie: cookie };
    expect((await api.call('GET', '/v1/runs', { headers })).status).toBe(200);
  });

  test('a key in a header wins over the cookie', async () => {
    const { api, cookie } = await signedIn();
    const key = await api.key(['runs:read'], { project: 'other' });
    await api.call('POST', `/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV/tickets`, { key, headers: { Cookie: cookie } });
    expect(entriesOf(api).at(-1)).toMatchObject({ scope: { projectId: 'other' } });
    expect(entriesOf(api).at(-1)).not.toHaveProperty('session');
  });

  test('a session dies with its key, by revocation and by expiry, with its open stream', async () => {
    const { api, key, ask } = await signedIn();
    const runId = await started(api, key, { graph: openGraph });
    const stream = streamIn(api.world, await ask('GET', `/v1/runs/${runId}/events`, { Accept: 'text/event-stream' }));
    await revoke(api, key);
    expect(outcome(await ask('GET', '/v1/runs'))).toEqual([401, 'session_invalid']);
    expect(entriesOf(api).at(-1)?.metadata['why']).toBe('session_of_a_key_revoked');
    await endsSoon(api, stream);

    const now = api.world.clock.now();
    const brief = await signedIn(['admin'], { expiresAt: after(now, minutes(10)) }, api);
    expect(brief.session['expiresAt']).toBe(iso(after(now, minutes(10))));
    api.world.clock.advance(minutes(10));
    expect(outcome(await brief.ask('GET', '/v1/runs'))).toEqual([401, 'session_invalid']);
  });

  test('a session ends an hour after its last use, and twelve hours after its start', async () => {
    const { api, ask } = await signedIn();
    for (let hour = 0; hour < 12; hour += 1) {
      api.world.clock.advance(minutes(59));
      expect((await ask('GET', '/v1/session')).status, `hour ${hour}`).toBe(200);
    }
    api.world.clock.advance(minutes(12));
    expect(outcome(await ask('GET', '/v1/session'))).toEqual([401, 'session_invalid']);
    expect(entriesOf(api).at(-1)?.metadata['why']).toBe('session_expired');
    const other = await signedIn([...keyScopes], {}, api);
    api.world.clock.advance(minutes(60));
    expect(outcome(await other.ask('GET', '/v1/session'))).toEqual([401, 'session_invalid']);
    expect(entriesOf(api).at(-1)?.metadata['why']).toBe('session_idle');
  });

  test('signing out ends the session at once, clears the cookie, and can be repeated', async () => {
    const { api, ask, cookie } = await signedIn();
    const out = await ask('DELETE', '/v1/session');
    expect([out.status, out.body]).toEqual([200, { signedOut: true }]);
    expect(out.headers['set-cookie']).toBe('__Host-stepwell=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure');
    expect(outcome(await ask('GET', '/v1/runs'))).toEqual([401, 'session_invalid']);
    expect((await ask('DELETE', '/v1/session')).body).toEqual({ signedOut: false });
    expect((await api.call('DELETE', '/v1/session', { headers: samePage })).body).toEqual({ signedOut: false });
    expect(cookie).not.toBe('');
  });

  test('signing in gives a new secret and ends the session that the browser had, also one that an attacker set', async () => {
    const planted = await signedIn();
    const { api } = planted;
    const key = await api.key(['runs:read']);
    const answer = await api.call('POST', '/v1/sessions', { body: { key }, headers: { ...samePage, Cookie: planted.cookie } });
    expect(cookieOf(answer)).not.toBe(planted.cookie);
    expect(outcome(await planted.ask('GET', '/v1/runs'))).toEqual([401, 'session_invalid']);
  });

  test.each([
    ['two cookies of the name', (cookie: string) => `${cookie}; __Host-stepwell=ss_${'x'.repeat(43)}`],
    ['the same cookie twice', (cookie: string) => `${cookie}; ${cookie}`],
    ['a malformed secret', () => '__Host-stepwell=ss_x'],
    ['an empty secret', () => '__Host-stepwell='],
    ['quotes around it', (cookie: string) => cookie.replace(/=(.*)/, '="$1"')],
    ['9 KB of secret', () => `__Host-stepwell=ss_${'x'.repeat(9_000)}`],
    ['a valid form of no session', () => `__Host-stepwell=ss_${'x'.repeat(43)}`],
  ])('%s: refused', async (_name, change) => {
    const { ask, cookie } = await signedIn();
    expect(outcome(await ask('GET', '/v1/runs', { Cookie: change(cookie) }))).toEqual([401, 'session_invalid']);
  });

  test.each([
    ['the name over plain HTTP', (cookie: string) => cookie.replace('__Host-stepwell', 'stepwell_443')],
    ['another case', (cookie: string) => cookie.replace('__Host-', '__host-')],
    ['a longer name', (cookie: string) => `x${cookie}`],
  ])('%s is another cookie', async (_name, change) => {
    const { ask, cookie } = await signedIn();
    expect(outcome(await ask('GET', '/v1/runs', { Cookie: change(cookie) }))).toEqual([401, 'unauthorized']);
  });

  test('9 KB of other cookies do not matter', async () => {
    const { ask, cookie } = await signedIn();
    const others = Array.from({ length: 90 }, (_, at) => `c${at}=${'x'.repeat(90)}`).join('; ');
    expect((await ask('GET', '/v1/runs', { Cookie: `${others}; ${cookie}` })).status).toBe(200);
  });

  test('the store has digests only', async () => {
    const stored: unknown[] = [];
    const api = http((world) => ({
      sessions: overrideMethods(world.sessions, {
        putLink: async (...given) => {
          stored.push(given);
          return world.sessions.putLink(...given);
        },
        put: async (...given) => {
          stored.push(given);
          return world.sessions.put(...given);
        },
      }),
    }));
    const { link, cookie } = await signedIn(['admin'], {}, api);
    const kept = JSON.stringify([stored, entriesOf(api), api.logs]);
    expect(stored).toHaveLength(2);
    for (const secret of [link, cookie.split('=')[1] ?? '']) expect(kept).not.toContain(secret.slice(3));
  });
});

describe('what a session may do', () => {
  const table: readonly Route[] = routes;
  const pathOf = (path: string): string =>
    path.replace('{runId}', 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV').replaceAll(/\{\w+\}/g, 'unknownkey');

  test.each(
    table
      .filter(({ scope, credential }) => scope !== null && credential !== 'key')
      .map((one) => [`${one.method} ${one.path}`, one] as const),
  )('%s accepts the session of an admin key, unless it needs admin or world:proxy', async (_name, { method, path, scope }) => {
    const { ask } = await signedIn(['admin']);
    const { status, body } = await ask(method, pathOf(path));
    if (scope === 'admin' || scope === 'world:proxy')
      expect([status, body['code'], body['required']]).toEqual([403, 'missing_scope', scope]);
    else expect([401, 403]).not.toContain(status);
  });

  test('a session has no scope that its key lacks, and follows the key', async () => {
    const { api, key, ask } = await signedIn(['runs:read', 'runs:write']);
    expect(outcome(await ask('GET', '/v1/workflows'))).toEqual([403, 'missing_scope']);
    const found = await api.world.keys.key(keyIdOf(key));
    if (found === undefined) throw new Error('no such key');
    await api.world.keys.updateKey(found, found.keyId, { scopes: ['runs:read'] });
    api.world.clock.advance(seconds(16));
    expect((await ask('GET', '/v1/session')).body['scopes']).toEqual(['runs:read']);
    expect(outcome(await ask('POST', '/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV/cancel'))).toEqual([403, 'missing_scope']);
  });

  test('a session reads, streams and cancels runs of its own project only', async () => {
    const { api, ask } = await signedIn();
    const other = await signedIn(['admin'], { project: 'other' }, api);
    const runId = await started(api, other.key, { graph: openGraph });
    for (const [method, path] of [
      ['GET', `/v1/runs/${runId}`],
      ['GET', `/v1/runs/${runId}/events`],
      ['POST', `/v1/runs/${runId}/cancel`],
    ] as const)
      expect(outcome(await ask(method, path))).toEqual([404, 'not_found']);
    const stream = await ask('GET', `/v1/runs/${runId}/events`, { Accept: 'text/event-stream' });
    expect([stream.status, stream.stream]).toEqual([404, undefined]);
    expect((await ask('GET', '/v1/runs')).body['data']).toEqual([]);
    expect((await other.ask('GET', `/v1/runs/${runId}`)).status).toBe(200);
  });

  test('a stream opens by the cookie', async () => {
    const { api, key, ask } = await signedIn();
    const runId = await started(api, key, { graph: openGraph });
    const answer = await ask('GET', `/v1/runs/${runId}/events`, { Accept: 'text/event-stream' });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
    answer.stream?.destroy();
    const signedOut = streamIn(api.world, await ask('GET', `/v1/runs/${runId}/events`, { Accept: 'text/event-stream' }));
    await ask('DELETE', '/v1/session');
    await endsSoon(api, signedOut);
  });

  test('an API key has no session to show', async () => {
    const api = http();
    expect(outcome(await api.call('GET', '/v1/session', { key: await api.key(['admin']) }))).toEqual([401, 'unauthorized']);
  });

  test('entries name the session and its subject', async () => {
    const { api, key, ask, session } = await signedIn();
    const runId = await started(api, key, { graph: openGraph });
    await ask('POST', `/v1/runs/${runId}/cancel`);
    await ask('GET', '/v1/keys');
    await ask('DELETE', '/v1/session');
    const expected = { id: session['id'], subject: `key:${keyIdOf(key)}` };
    const entries = entriesOf(api).map((entry) => [entry.action, entry.keyId, entry.session] as const);
    expect(
      entries.filter(([action]) => ['sessions.link', 'sessions.create', 'runs.cancel', 'sessions.delete'].includes(action)),
    ).toEqual([
      ['sessions.link', keyIdOf(key), undefined],
      ['sessions.create', keyIdOf(key), expected],
      ['runs.cancel', keyIdOf(key), expected],
      ['sessions.delete', keyIdOf(key), expected],
    ]);
    const listed = await api.call('GET', '/v1/audit', { key, query: { action: 'runs.cancel' } });
    expect(listed.body['data']).toMatchObject([{ session: expected, resource: `run/${runId}` }]);
  });

  test('has a rate of its own, and all sessions of a key have one together', async () => {
    const api = http();
    const one = await signedIn(['runs:read'], { rateLimitPerMinute: 120 }, api);
    const first = await one.ask('GET', '/v1/session');
    expect(first.headers['ratelimit-policy']).toBe(`"default";q=${sessionRateLimit};w=60`);
    for (let count = 1; count < sessionRateLimit; count += 1) await one.ask('GET', '/v1/session');
    const refused = await one.ask('GET', '/v1/session');
    expect(outcome(refused)).toEqual([429, 'rate_limited']);
    expect(refused.headers['retry-after']).toBeDefined();
    // The key itself is not used up.
    expect((await api.call('GET', '/v1/runs', { key: one.key })).status).toBe(200);
    // As if other functions had counted the requests of nine more sessions.
    const minute = minutes(1);
    await api.world.rates.take(keyIdOf(one.key), windowAt(api, minute), keySessionsRateLimit, 'sessions');
    const link = textIn(await api.call('POST', '/v1/sessions/links', { key: one.key }), 'link');
    const Cookie = cookieOf(await exchange(api, link));
    const others = Array.from({ length: 11 }, () => api.call('GET', '/v1/session', { headers: { ...samePage, Cookie } }));
    expect((await Promise.all(others)).map(({ status }) => status)).toContain(429);
  });
});

describe('admin, for a quarter of an hour', () => {
  const raisedSession = async () => {
    const own = await signedIn(['runs:read', 'runs:write']);
    const admin = await own.api.key(['admin']);
    const raise = (body: object) => own.ask('POST', '/v1/session/admin', {}, body);
    const linkOf = async (key: string) => textIn(await own.api.call('POST', '/v1/sessions/links', { key }), 'link');
    return { ...own, admin, raise, linkOf };
  };
  const keysStatus = async ({ ask }: Pick<Awaited<ReturnType<typeof raisedSession>>, 'ask'>) =>
    (await ask('GET', '/v1/keys')).status;

  test('a key raises the session, which has every scope of a person, and loses them after 15 minutes', async () => {
    const own = await raisedSession();
    expect(await keysStatus(own)).toBe(403);
    const raised = await own.raise({ key: own.admin });
    const until = after(own.api.world.clock.now(), minutes(15));
    expect(raised.body).toEqual({
      ...own.session,
      scopes: keyScopes.filter((scope) => scope !== 'world:proxy'),
      raisedUntil: iso(until),
    });
    expect((await own.ask('GET', '/v1/session')).body).toMatchObject({ raisedUntil: iso(until) });
    expect(await keysStatus(own)).toBe(200);
    own.api.world.clock.advance(minutes(15));
    expect(await keysStatus(own)).toBe(403);
    expect((await own.ask('GET', '/v1/session')).body).toMatchObject({ scopes: ['runs:read', 'runs:write'] });
    expect((await own.ask('GET', '/v1/session')).body['raisedUntil']).toBeUndefined();
  });

  test('entries name the session, the key that was shown, and what the session did with it', async () => {
    const own = await raisedSession();
    await own.raise({ link: await own.linkOf(own.admin) });
    await own.ask('POST', '/v1/keys', {}, { scopes: ['runs:read'] });
    await own.ask('DELETE', '/v1/session/admin');
    const session = { id: own.session['id'], subject: `key:${keyIdOf(own.key)}` };
    const entries = entriesOf(own.api).slice(-3);
    expect(entries).toMatchObject([
      { action: 'sessions.raise', session, keyId: keyIdOf(own.key), metadata: { by: 'link', shownKeyId: keyIdOf(own.admin) } },
      { action: 'keys.create', session, keyId: keyIdOf(own.key) },
      { action: 'sessions.lower', session },
    ]);
    expect(JSON.stringify([entriesOf(own.api), own.api.logs])).not.toContain(own.admin.split('_')[3]);
  });

  test('the session gives it back, and again without effect', async () => {
    const own = await raisedSession();
    await own.raise({ key: own.admin });
    for (const _time of [1, 2]) {
      const lowered = await own.ask('DELETE', '/v1/session/admin');
      expect([lowered.status, lowered.body['scopes']]).toEqual([200, ['runs:read', 'runs:write']]);
      expect(await keysStatus(own)).toBe(403);
    }
  });

  test.each([
    ['a key without admin', async (own: Awaited<ReturnType<typeof raisedSession>>) => ({ key: own.key }), [403, 'missing_scope']],
    ['a link of such a key', async (own) => ({ link: await own.linkOf(own.key) }), [403, 'missing_scope']],
    [
      'a key of another project',
      async ({ api }) => ({ key: await api.key(['admin'], { project: 'other' }) }),
      [403, 'foreign_project'],
    ],
    [
      'a key of another environment',
      async ({ api }) => ({ key: await api.key(['admin'], { env: 'live' }) }),
      [403, 'foreign_project'],
    ],
    ['a revoked key', async ({ api }) => ({ key: await api.key(['admin'], { revokedAt: instant(1) }) }), [401, 'unauthorized']],
    ['a text that is no key', async () => ({ key: 'sw_x' }), [401, 'unauthorized']],
    ['a link that does not exist', async () => ({ link: `sl_${'x'.repeat(43)}` }), [401, 'link_invalid']],
    ['the secret of the session', async ({ cookie }) => ({ link: cookie.split('=')[1] ?? '' }), [401, 'link_invalid']],
    ['nothing', async () => ({}), [400, 'invalid_request']],
    ['two things', async (own) => ({ key: own.admin, link: 'sl_' }), [400, 'invalid_request']],
  ] satisfies readonly [
    string,
    (own: Awaited<ReturnType<typeof raisedSession>>) => Promise<object>,
    readonly [number, string],
  ][])('%s raises nothing', async (_what, bodyOf, expected) => {
    const own = await raisedSession();
    expect(outcome(await own.raise(await bodyOf(own)))).toEqual(expected);
    expect(await keysStatus(own)).toBe(403);
  });

  test('a link raises once', async () => {
    const own = await raisedSession();
    const link = await own.linkOf(own.admin);
    expect((await own.raise({ link })).status).toBe(200);
    await own.ask('DELETE', '/v1/session/admin');
    expect(outcome(await own.raise({ link }))).toEqual([401, 'link_invalid']);
    expect(await keysStatus(own)).toBe(403);
  });

  test('a page of another site cannot raise the session, and an API key has none to raise', async () => {
    const own = await raisedSession();
    const foreign = await own.ask('POST', '/v1/session/admin', { 'Sec-Fetch-Site': 'same-site' }, { key: own.admin });
    expect(outcome(foreign)).toEqual([403, 'cross_origin']);
    const byKey = await own.api.call('POST', '/v1/session/admin', { key: own.admin, body: { key: own.admin } });
    expect(outcome(byKey)).toEqual([401, 'unauthorized']);
    expect(await keysStatus(own)).toBe(403);
  });

  test('it ends with the key that was shown', async () => {
    const own = await raisedSession();
    await own.raise({ key: own.admin });
    const scope = { projectId: projectId('acme'), environment: environment('test') };
    await own.api.world.keys.revokeKey(scope, keyIdOf(own.admin), own.api.world.clock.now());
    own.api.world.clock.advance(seconds(16));
    expect(await keysStatus(own)).toBe(403);
    expect((await own.ask('GET', '/v1/runs')).status).toBe(200);
  });

  test('a raised session creates no links, speaks for no deployed code, and revokes neither of its keys', async () => {
    const own = await raisedSession();
    await own.raise({ key: own.admin });
    expect(outcome(await own.ask('POST', '/v1/sessions/links'))).toEqual([401, 'unauthorized']);
    expect(outcome(await own.ask('POST', '/v1/world/runs/list', {}, {}))).toEqual([403, 'missing_scope']);
    for (const key of [own.key, own.admin])
      expect(outcome(await own.ask('DELETE', `/v1/keys/${keyIdOf(key)}`))).toEqual([409, 'key_in_use']);
  });

  test('signing out meanwhile wins', async () => {
    const lost: { api?: Http } = {};
    const api = http((world) => ({
      sessions: overrideMethods(world.sessions, {
        raise: async (digest, raised) => {
          await world.sessions.delete(digest);
          return world.sessions.raise(digest, raised);
        },
      }),
    }));
    lost.api = api;
    const own = await signedIn(['admin'], {}, api);
    expect(outcome(await own.ask('POST', '/v1/session/admin', {}, { key: own.key }))).toEqual([401, 'session_invalid']);
    expect(outcome(await own.ask('GET', '/v1/session'))).toEqual([401, 'session_invalid']);
  });
});

const windowAt = (api: Http, width: number) => {
  const now = api.world.clock.now();
  return instant(now - (now % width));
};
