/** Opening sockets, joining and leaving runs, and everything that can be wrong with messages of a client. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { socketMessageLimitBytes } from '../../lib/api/schemas/sockets.ts';
import { environment, keyId, projectId, runId as toRunId } from '../../lib/engine/ids.ts';
import { hours, minutes, seconds } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { maxJoinedRuns } from '../../lib/service/watching/join-run.ts';
import { type Http, http, openGraph, started, textIn } from './http.ts';
import { type SocketApiHere, socketApi } from './socket-events.ts';

const scope = { projectId: projectId('acme'), environment: environment('test') };
const unknownRun = 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV';

interface Given {
  readonly api: Http;
  readonly here: SocketApiHere;
  readonly key: string;
  readonly runId: string;
}
const given = async (): Promise<Given> => {
  const api = http();
  const key = await api.key(['runs:read', 'payloads:read', 'trigger:write', 'workflows:write']);
  return { api, here: socketApi(api), key, runId: await started(api, key, { graph: openGraph }) };
};
const opened = async (): Promise<Given> => {
  const all = await given();
  expect(await all.here.open('a', { key: all.key })).toEqual({ status: 200 });
  return all;
};
const joinedIn = async ({ here, runId }: Given) =>
  (await here.sockets.watchersOf({ ...scope, runId: toRunId(runId) })).members.map(({ connectionId }) => connectionId);
const idOf = (key: string) => keyId(key.split('_')[2] ?? '');
const without = ({ correlationId: _correlationId, ...frame }: Readonly<Record<string, unknown>> = {}) => frame;

describe('opening', () => {
  test('a key in the header opens a socket, and its use is recorded', async () => {
    const { api, key } = await opened();
    expect((await api.world.keys.key(idOf(key)))?.lastUsedAt).toBeDefined();
  });

  test.each([
    ['nothing', {}, 401, 'unauthorized'],
    ['what is no key', { key: 'sw_test_nothing' }, 401, 'unauthorized'],
    ['another scheme', { headers: { Authorization: 'Basic abc' } }, 401, 'unauthorized'],
    ['a ticket that is none', { query: { ticket: 'st_no', runId: unknownRun } }, 401, 'ticket_invalid'],
  ])('%s opens none', async (_what, opening, status, code) => {
    const { here } = await given();
    expect(await here.open('a', opening)).toEqual({ status, code });
    expect(await here.say('a', { action: 'join', runId: unknownRun })).toMatchObject({ type: 'error', code: 'unauthorized' });
  });

  test('a key in the query is refused unchecked, and nothing of it is stored', async () => {
    const { api, here, key } = await given();
    for (const name of ['key', 'authorization', 'ticket']) {
      expect(await here.open('a', { query: { [name]: `Bearer ${key}` } })).toEqual({ status: 400, code: 'key_in_query' });
    }
    expect(JSON.stringify([here.logs, [...api.world.audit.entries.values()]])).not.toContain(key);
  });

  test('a page with an origin outside corsOrigins opens no socket, and a program without an origin does', async () => {
    const { api, key } = await given();
    const page = 'https://app.example.com';
    const here = socketApi(api, [page]);
    const from = (Origin: string) => ({ key, headers: { Origin } });
    const refused = { status: 403, code: 'request_blocked' };
    expect(await here.open('a', from(page))).toEqual({ status: 200 });
    expect(await here.open('b', { key })).toEqual({ status: 200 });
    for (const other of ['https://evil.example', 'https://app.example.com.evil.example', 'http://app.example.com', 'null', ''])
      expect(await here.open('c', from(other)), other).toEqual(refused);
  });

  test('without corsOrigins a page of any origin may try', async () => {
    const { here, key } = await given();
    expect(await here.open('a', { key, headers: { Origin: 'https://any.example' } })).toEqual({ status: 200 });
  });

  test('what is not proven to have come over HTTPS is refused', async () => {
    const { here, key } = await given();
    expect(await here.open('a', { key, headers: { 'X-Forwarded-Proto': 'http' } })).toEqual({
      status: 400,
      code: 'https_required',
    });
  });

  test('a revoked key and one that is over its rate open none', async () => {
    const { api, here, key } = await given();
    const slow = await api.key(['runs:read'], { rateLimitPerMinute: 1 });
    expect([await here.open('a', { key: slow }), await here.open('b', { key: slow })]).toEqual([
      { status: 200 },
      { status: 429, code: 'rate_limited' },
    ]);
    await api.world.keys.revokeKey(scope, idOf(key), api.world.clock.now());
    expect(await here.open('c', { key })).toEqual({ status: 401, code: 'unauthorized' });
  });

  test('a refused caller is in the audit trail, without the presented credential', async () => {
    const { api, here } = await given();
    await here.open('a', { key: 'sw_test_secretsecret' });
    const failures = [...api.world.audit.entries.values()].filter(({ action }) => action === 'auth.failure');
    expect(failures).toMatchObject([
      { result: 'failure', resource: 'GET $connect', ip: '192.0.2.1', metadata: { why: 'malformed' } },
    ]);
    expect(JSON.stringify(failures)).not.toContain('secretsecret');
  });

  test('a temporary error is reported as unavailable, and opens no socket', async () => {
    const { api, here, key } = await given();
    Object.assign(api.world.keys, { key: () => Promise.reject(new Unavailable('the table')) });
    expect(await here.open('a', { key })).toEqual({ status: 503, code: 'unavailable' });
    expect(here.logs.map(({ level }) => level)).toEqual(['warn']);
  });
});

describe('tickets', () => {
  const ticketFor = async ({ api, key, runId }: Given) =>
    textIn(await api.call('POST', `/v1/runs/${runId}/tickets`, { key }), 'ticket');

  test('a ticket opens one socket, for its run alone', async () => {
    const all = await given();
    const { api, here, key, runId } = all;
    const other = await started(api, key, { name: 'other', graph: openGraph });
    const ticket = await ticketFor(all);
    expect(await here.open('a', { query: { ticket, runId } })).toEqual({ status: 200 });
    expect(await here.open('b', { query: { ticket, runId } })).toEqual({ status: 401, code: 'ticket_invalid' });
    expect(without(await here.say('a', { action: 'join', runId: other }))).toEqual({
      ...without(await here.say('a', { action: 'join', runId: unknownRun })),
      runId: other,
    });
    expect(await here.say('a', { action: 'join', runId })).toBeUndefined();
    expect(await joinedIn(all)).toEqual(['a']);
  });

  test('a ticket of another run, and one that is a minute old, open none', async () => {
    const all = await given();
    const ticket = await ticketFor(all);
    expect((await all.here.open('a', { query: { ticket, runId: unknownRun } })).code).toBe('ticket_invalid');
    all.api.world.clock.advance(minutes(1));
    expect((await all.here.open('b', { query: { ticket, runId: all.runId } })).code).toBe('ticket_invalid');
  });
});

describe('joining', () => {
  test.each(['join', 'workflow_run_join'])('%s adds the membership and requests a broadcaster', async (action) => {
    const all = await opened();
    expect(await all.here.say('a', { action, runId: all.runId, ...(action === 'join' ? { after: 3 } : {}) })).toBeUndefined();
    const { members } = await all.here.sockets.watchersOf({ ...scope, runId: toRunId(all.runId) });
    expect(members).toMatchObject([
      { connectionId: 'a', cursor: { after: action === 'join' ? 3 : 0 }, isJoinAcknowledged: false },
    ]);
    expect(all.here.watches.sent).toMatchObject([{ run: { ...scope, runId: all.runId } }]);
  });

  test('leaving removes the membership, and succeeds without one', async () => {
    const all = await opened();
    await all.here.say('a', { action: 'join', runId: all.runId });
    const left = { type: 'left', runId: all.runId, reason: 'requested' };
    expect(await all.here.say('a', { action: 'leave', runId: all.runId })).toEqual(left);
    expect(await joinedIn(all)).toEqual([]);
    expect(await all.here.say('a', { action: 'leave', runId: all.runId })).toEqual(left);
  });

  test('a socket that closes leaves every run', async () => {
    const all = await opened();
    await all.here.say('a', { action: 'join', runId: all.runId });
    await all.here.close('a');
    expect(await joinedIn(all)).toEqual([]);
    expect(await all.here.say('a', { action: 'join', runId: all.runId })).toMatchObject({ code: 'unauthorized' });
  });

  test.each([{ project: 'rival' }, { env: 'live' }])('a run of %j is answered as one that does not exist', async (of) => {
    const all = await given();
    const foreign = await all.api.key(['admin'], of);
    await all.here.open('f', { key: foreign });
    const theirs = await all.here.say('f', { action: 'join', runId: all.runId });
    expect(theirs).toMatchObject({ type: 'error', code: 'not_found', runId: all.runId });
    expect(without(theirs)).toEqual({
      ...without(await all.here.say('f', { action: 'join', runId: unknownRun })),
      runId: all.runId,
    });
    expect(await joinedIn(all)).toEqual([]);
    expect(all.here.watches.sent).toEqual([]);
    // … and nobody is taken out by another's word.
    await all.here.open('a', { key: all.key });
    await all.here.say('a', { action: 'join', runId: all.runId });
    await all.here.say('f', { action: 'leave', runId: all.runId });
    expect(await joinedIn(all)).toEqual(['a']);
  });

  test.each([
    ['runs:read', ['trigger:write', 'payloads:read']],
    ['payloads:read', ['trigger:write', 'runs:read']],
  ] as const)('without %s a run is not joined, and the scope is named', async (required, scopes) => {
    const all = await given();
    await all.here.open('a', { key: await all.api.key(scopes) });
    expect(await all.here.say('a', { action: 'join', runId: all.runId })).toMatchObject({
      type: 'error',
      code: 'missing_scope',
      required,
    });
    await all.here.open('b', { key: await all.api.key(['admin']) });
    expect(await all.here.say('b', { action: 'join', runId: all.runId })).toBeUndefined();
    expect(await joinedIn(all)).toEqual(['b']);
  });

  test('a revoked key cannot join runs over an open socket after 30 seconds', async () => {
    const all = await opened();
    await all.api.world.keys.revokeKey(scope, idOf(all.key), all.api.world.clock.now());
    all.api.world.clock.advance(seconds(30));
    expect(await all.here.say('a', { action: 'join', runId: all.runId })).toMatchObject({ code: 'unauthorized' });
    expect(await joinedIn(all)).toEqual([]);
  });

  test('joins count against the key’s rate', async () => {
    const all = await given();
    await all.here.open('a', { key: await all.api.key(['runs:read', 'payloads:read'], { rateLimitPerMinute: 2 }) });
    const join = () => all.here.say('a', { action: 'join', runId: all.runId });
    expect([await join(), await join()]).toMatchObject([undefined, { code: 'rate_limited' }]);
  });

  test('one run too many is refused, and the others stay', async () => {
    const all = await given();
    const free = await all.api.key(['admin'], { rateLimitPerMinute: null });
    await all.here.open('a', { key: free });
    for (let count = 0; count < maxJoinedRuns; count += 1) {
      const runId = await started(all.api, free, { input: { count } });
      expect(await all.here.say('a', { action: 'join', runId })).toBeUndefined();
    }
    expect(await all.here.say('a', { action: 'join', runId: all.runId })).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/runId', code: 'too_many_runs' }],
    });
  });

  test('an expired connection is unknown', async () => {
    const all = await opened();
    all.api.world.clock.advance(hours(3));
    expect(await all.here.say('a', { action: 'join', runId: all.runId })).toMatchObject({ code: 'unauthorized' });
  });
});

describe('messages of a client', () => {
  test('a ping is answered without authentication', async () => {
    const { here } = await opened();
    expect(await here.say('a', { action: 'ping' })).toEqual({ type: 'pong' });
  });

  test.each<[unknown, string, unknown]>([
    ['{"action":', 'invalid_request', [{ pointer: '', code: 'invalid_json' }]],
    ['', 'invalid_request', [{ pointer: '', code: 'invalid_json' }]],
    ['[]', 'invalid_request', [{ pointer: '' }]],
    ['null', 'invalid_request', [{ pointer: '' }]],
    [{ action: 'shout' }, 'invalid_request', [{ pointer: '/action', code: 'unknown_action' }]],
    [{ runId: unknownRun }, 'invalid_request', [{ pointer: '/action', code: 'unknown_action' }]],
    [{ action: 'join' }, 'invalid_request', [{ pointer: '/runId' }]],
    [{ action: 'join', runId: 'wrun_x' }, 'invalid_request', [{ pointer: '/runId' }]],
    [{ action: 'join', runId: unknownRun, after: -1 }, 'invalid_request', [{ pointer: '/after' }]],
    [{ action: 'join', runId: unknownRun, after: '7' }, 'invalid_request', [{ pointer: '/after' }]],
    [{ action: 'join', runId: unknownRun, projectId: 'rival' }, 'invalid_request', [{ pointer: '' }]],
    [{ action: 'leave' }, 'invalid_request', [{ pointer: '/runId' }]],
    [{ action: 'ping', text: 'x'.repeat(socketMessageLimitBytes) }, 'payload_too_large', undefined],
  ])('%j is refused with %s, and the socket stays', async (message, code, errors) => {
    const { here } = await opened();
    const refused = await here.say('a', message);
    expect(refused).toMatchObject({ type: 'error', code, ...(errors === undefined ? {} : { errors }) });
    expect(z.string().parse(refused?.['correlationId'])).toMatch(/^request-\d+=$/);
    expect(await here.say('a', { action: 'ping' })).toEqual({ type: 'pong' });
  });

  test('temporary and internal errors are distinguished and keep the socket open', async () => {
    const all = await opened();
    for (const [trouble, code, level] of [
      [new Unavailable('the queue'), 'unavailable', 'warn'],
      [new Error('a bug'), 'internal', 'error'],
    ] as const) {
      Object.assign(all.here.watches, { send: () => Promise.reject(trouble) });
      expect(await all.here.say('a', { action: 'join', runId: all.runId })).toMatchObject({ type: 'error', code });
      expect(all.here.logs.at(-1)).toMatchObject({ level });
    }
  });
});
