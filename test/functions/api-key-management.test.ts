/** Keys made, listed, revoked and rotated over HTTP. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { parseKey } from '../../lib/api/auth.ts';
import { environment, keyId as toKeyId, projectId } from '../../lib/engine/ids.ts';
import { after, days, iso, minutes, seconds } from '../../lib/engine/time.ts';
import { digestOfNoSecret } from '../../lib/service/access/create-key.ts';
import { type Answered, type Http, http, textIn } from './http.ts';

const idOf = (key: string): string => key.split('_')[2] ?? '';
const create = async (api: Http, key: string, body: object): Promise<{ keyId: string; text: string; answer: Answered }> => {
  const answer = await api.call('POST', '/v1/keys', { key, body });
  expect(answer.status).toBe(201);
  return { keyId: textIn(answer, 'keyId'), text: textIn(answer, 'key'), answer };
};
const listed = (answer: Answered) => z.object({ data: z.array(z.looseObject({ keyId: z.string() })) }).parse(answer.body).data;
const statusWith = async (api: Http, key: string): Promise<number> => (await api.call('GET', '/v1/workflows', { key })).status;
/** Warm functions have forgotten by then what they read of a key. */
const pass = (api: Http): void => api.world.clock.advance(seconds(30));
const entriesOf = (api: Http) => [...api.world.audit.entries.values()];

describe('a new key', () => {
  test('works at once, with the terms it was made with, and only its digest is kept', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    const expiresAt = after(api.world.clock.now(), minutes(5));
    const body = { scopes: ['workflows:read', 'runs:read', 'runs:read'], expiresAt: iso(expiresAt), rateLimitPerMinute: 7 };
    const { keyId, text, answer } = await create(api, admin, body);
    expect(answer.body).toEqual({
      keyId,
      key: text,
      projectId: 'acme',
      environment: 'test',
      scopes: ['runs:read', 'workflows:read'],
      createdAt: iso(api.world.clock.now()),
      expiresAt: iso(expiresAt),
      rateLimitPerMinute: 7,
    });
    const parsed = parseKey(text);
    expect(await api.world.keys.key(toKeyId(keyId))).toMatchObject({ ...parsed, projectId: 'acme' });
    const { headers, status } = await api.call('GET', '/v1/workflows', { key: text });
    expect([status, headers['ratelimit-policy']]).toEqual([200, '"default";q=7;w=60']);
    expect((await api.call('GET', '/v1/keys', { key: text })).status).toBe(403);
    api.world.clock.set(expiresAt);
    expect(await statusWith(api, text)).toBe(401);
  });

  test('has the default limit, its own, or none', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    const [usual, unlimited] = [
      await create(api, admin, { scopes: ['admin'] }),
      await create(api, admin, { scopes: ['admin'], rateLimitPerMinute: null }),
    ];
    expect(usual.answer.body).not.toHaveProperty('rateLimitPerMinute');
    expect(unlimited.answer.body).toMatchObject({ rateLimitPerMinute: null });
    expect((await api.call('GET', '/v1/runs', { key: unlimited.text })).headers).not.toHaveProperty('ratelimit');
  });

  test.each([
    [{ scopes: [] }, '/scopes'],
    [{ scopes: ['everything'] }, '/scopes/0'],
    [{}, '/scopes'],
    [{ scopes: ['admin'], rateLimitPerMinute: 0 }, '/rateLimitPerMinute'],
    [{ scopes: ['admin'], rateLimitPerMinute: 1.5 }, '/rateLimitPerMinute'],
    [{ scopes: ['admin'], expiresAt: 'soon' }, '/expiresAt'],
    [{ scopes: ['admin'], expiresAt: '2020-01-01T00:00:00Z' }, '/expiresAt'],
    [{ scopes: ['admin'], keyId: 'mychoice1' }, '/keyId'],
    [{ scopes: ['admin'], environment: 'Prod' }, '/environment'],
  ])('%j is refused with its JSON pointer', async (body, pointer) => {
    const api = http();
    const { status, body: answer } = await api.call('POST', '/v1/keys', { key: await api.key(['admin']), body });
    expect([status, answer['code']]).toEqual([400, 'invalid_request']);
    expect(answer['errors']).toMatchObject([{ pointer }]);
  });

  test('is of the own project and environment, named or not, and of no other', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    await create(api, admin, { scopes: ['runs:read'], projectId: 'acme', environment: 'test' });
    for (const other of [{ projectId: 'rival' }, { environment: 'live' }]) {
      const refused = await api.call('POST', '/v1/keys', { key: admin, body: { scopes: ['runs:read'], ...other } });
      expect([refused.status, refused.body['code']]).toEqual([403, 'foreign_project']);
    }
    expect(listed(await api.call('GET', '/v1/keys', { key: admin }))).toHaveLength(2);
  });
});

test('keys are listed newest first, page by page, also those that no longer work', async () => {
  const api = http();
  const admin = await api.key(['admin']);
  await api.key(['admin'], { project: 'rival' });
  await api.key(['admin'], { env: 'live' });
  const made: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    api.world.clock.advance(seconds(1));
    made.unshift((await create(api, admin, { scopes: ['runs:read'] })).keyId);
  }
  await api.call('DELETE', `/v1/keys/${made[1]}`, { key: admin });
  const first = await api.call('GET', '/v1/keys', { key: admin, query: { limit: '3' } });
  expect(listed(first).map(({ keyId }) => keyId)).toEqual(made);
  expect(listed(first)[1]).toMatchObject({ revokedAt: iso(api.world.clock.now()) });
  const query = { limit: '3', cursor: textIn(first, 'cursor') };
  const second = await api.call('GET', '/v1/keys', { key: admin, query });
  expect(listed(second).map(({ keyId }) => keyId)).toEqual([idOf(admin)]);
  expect(second.body).toMatchObject({ cursor: null, hasMore: false });
  const foreign = await api.key(['admin'], { env: 'live' });
  const stolen = await api.call('GET', '/v1/keys', { key: foreign, query });
  expect([stolen.status, stolen.body['code']]).toEqual([400, 'cursor_invalid']);
});

describe('a revoked key', () => {
  test('is refused within 30 s by functions that knew it, and the first time stays', async () => {
    const api = http();
    const other = http(() => ({ keys: api.world.keys, clock: api.world.clock }));
    const admin = await api.key(['admin']);
    const { keyId, text } = await create(api, admin, { scopes: ['workflows:read'] });
    for (const warm of [api, other]) expect(await statusWith(warm, text)).toBe(200);
    const revokedAt = iso(api.world.clock.now());
    const revoke = () => api.call('DELETE', `/v1/keys/${keyId}`, { key: admin });
    expect(await revoke()).toMatchObject({ status: 200, body: { keyId, revokedAt } });
    pass(api);
    for (const warm of [api, other]) expect(await statusWith(warm, text)).toBe(401);
    expect(await revoke()).toMatchObject({ status: 200, body: { keyId, revokedAt } });
  });

  test('is never the caller’s key', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    const own = await api.call('DELETE', `/v1/keys/${idOf(admin)}`, { key: admin });
    expect([own.status, own.body['code']]).toEqual([409, 'key_in_use']);
    pass(api);
    expect(await statusWith(api, admin)).toBe(200);
  });

  test.each(['unknownkey', 'no', 'a%23b'])('the unknown key id %s is not found', async (keyId) => {
    const api = http();
    const key = await api.key(['admin']);
    expect((await api.call('DELETE', `/v1/keys/${keyId}`, { key })).status).toBe(404);
    expect((await api.call('POST', `/v1/keys/${keyId}/rotate`, { key })).status).toBe(404);
  });
});

describe('a rotated key', () => {
  const rotate = (api: Http, key: string, keyId: string, body?: object) =>
    api.call('POST', `/v1/keys/${keyId}/rotate`, { key, ...(body === undefined ? {} : { body }) });

  test('works until the overlap has passed, and its successor has the same terms', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    api.world.clock.advance(seconds(1));
    const old = await create(api, admin, { scopes: ['workflows:read'], rateLimitPerMinute: 9 });
    api.world.clock.advance(seconds(1));
    const rotated = await rotate(api, admin, old.keyId, { overlapSeconds: 60 });
    const end = after(api.world.clock.now(), seconds(60));
    expect(rotated.status).toBe(201);
    expect(rotated.body).toEqual({
      keyId: expect.not.stringMatching(old.keyId),
      key: expect.not.stringMatching(old.text),
      projectId: 'acme',
      environment: 'test',
      scopes: ['workflows:read'],
      createdAt: iso(api.world.clock.now()),
      rateLimitPerMinute: 9,
      replaces: { keyId: old.keyId, expiresAt: iso(end) },
    });
    const successor = textIn(rotated, 'key');
    expect(listed(await api.call('GET', '/v1/keys', { key: admin }))).toMatchObject([
      { keyId: idOf(successor) },
      { keyId: old.keyId, replacedBy: idOf(successor), expiresAt: iso(end) },
      { keyId: idOf(admin) },
    ]);
    api.world.clock.advance(seconds(59));
    expect([await statusWith(api, old.text), await statusWith(api, successor)]).toEqual([200, 200]);
    api.world.clock.advance(seconds(1));
    expect([await statusWith(api, old.text), await statusWith(api, successor)]).toEqual([401, 200]);
  });

  test('works for one more day by default, and never beyond its expiry', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    const now = api.world.clock.now();
    const soon = iso(after(now, minutes(5)));
    const [lasting, brief] = [
      await create(api, admin, { scopes: ['runs:read'] }),
      await create(api, admin, { scopes: ['runs:read'], expiresAt: soon }),
    ];
    expect((await rotate(api, admin, lasting.keyId)).body).toMatchObject({ replaces: { expiresAt: iso(after(now, days(1))) } });
    expect((await rotate(api, admin, brief.keyId)).body).toMatchObject({ expiresAt: soon, replaces: { expiresAt: soon } });
  });

  test('may be the caller’s key, and may end at once', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    const successor = textIn(await rotate(api, admin, idOf(admin), { overlapSeconds: 0 }), 'key');
    pass(api);
    expect([await statusWith(api, admin), await statusWith(api, successor)]).toEqual([401, 200]);
  });

  test.each([-1, 604_801, 0.5, null])('an overlap of %j is refused', async (overlapSeconds) => {
    const api = http();
    const admin = await api.key(['admin']);
    expect((await rotate(api, admin, idOf(admin), { overlapSeconds })).status).toBe(400);
  });

  test('of two rotations at once one wins, and what the other made does not work', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    const { keyId } = await create(api, admin, { scopes: ['runs:read'] });
    const answers = await Promise.all([rotate(api, admin, keyId), rotate(api, admin, keyId)]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
    const keys = listed(await api.call('GET', '/v1/keys', { key: admin })).filter(
      (key) => key['scopes']?.toString() === 'runs:read',
    );
    expect(keys.filter((key) => key['revokedAt'] === undefined && key['expiresAt'] === undefined)).toHaveLength(1);
    expect(keys.filter((key) => key['revokedAt'] !== undefined)).toHaveLength(1);
  });

  test('is not made of one that is revoked, expired or replaced', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    const now = api.world.clock.now();
    const retired = [
      await api.key(['admin'], { revokedAt: now }),
      await api.key(['admin'], { expiresAt: now }),
      await api.key(['admin']),
    ].map(idOf);
    await rotate(api, admin, retired[2] ?? '');
    const before = listed(await api.call('GET', '/v1/keys', { key: admin })).length;
    for (const keyId of retired) {
      const { status, body } = await rotate(api, admin, keyId);
      expect([status, body['code']]).toEqual([409, 'key_retired']);
    }
    expect(listed(await api.call('GET', '/v1/keys', { key: admin }))).toHaveLength(before);
  });

  test('is not made of the key of a grant, whose people stay signed in', async () => {
    const api = http();
    const admin = await api.key(['admin']);
    const grant = { keyId: toKeyId('platformteam'), projectId: projectId('acme'), environment: environment('test') };
    const stored = { ...grant, scopes: ['admin'] as const, secretHash: digestOfNoSecret, createdAt: api.world.clock.now() };
    await api.world.keys.putKey(stored);
    const { status, body } = await rotate(api, admin, grant.keyId);
    expect([status, body['code']]).toEqual([409, 'key_without_secret']);
    expect(body['recovery']).toContain('setting console');
    expect(await api.world.keys.key(grant.keyId)).toEqual(stored);
    expect(listed(await api.call('GET', '/v1/keys', { key: admin }))).toHaveLength(2);
    expect(entriesOf(api)).toMatchObject([
      { action: 'keys.rotate', resource: 'key/platformteam', result: 'failure', metadata: { code: 'key_without_secret' } },
    ]);
  });
});

test('every change of a key is audited, also the refused ones', async () => {
  const api = http();
  const admin = await api.key(['admin']);
  const { keyId } = await create(api, admin, { scopes: ['runs:read'], rateLimitPerMinute: 9 });
  const successor = textIn(await api.call('POST', `/v1/keys/${keyId}/rotate`, { key: admin }), 'keyId');
  await api.call('DELETE', `/v1/keys/${keyId}`, { key: admin });
  await api.call('POST', '/v1/keys', { key: admin, body: { scopes: ['admin'], environment: 'live' } });
  await api.call('DELETE', '/v1/keys/unknownkey', { key: admin });
  await api.call('GET', '/v1/keys', { key: admin });
  const by = { keyId: idOf(admin), scope: { projectId: 'acme', environment: 'test' } };
  expect(entriesOf(api)).toMatchObject([
    {
      ...by,
      action: 'keys.create',
      resource: `key/${keyId}`,
      result: 'success',
      metadata: { scopes: ['runs:read'], rateLimitPerMinute: 9, status: 201 },
    },
    {
      ...by,
      action: 'keys.rotate',
      resource: `key/${keyId}`,
      result: 'success',
      metadata: { overlapSeconds: 86_400, replacedBy: successor },
    },
    { ...by, action: 'keys.revoke', resource: `key/${keyId}`, result: 'success' },
    { ...by, action: 'keys.create', result: 'failure', metadata: { code: 'foreign_project', environment: 'live' } },
    { ...by, action: 'keys.revoke', resource: 'key/unknownkey', result: 'failure', metadata: { code: 'not_found' } },
  ]);
});

test('a key is only in the response that created it, never in a list, a log or the audit trail', async () => {
  const api = http();
  const admin = await api.key(['admin']);
  const made = await create(api, admin, { scopes: ['runs:read'] });
  const rotated = textIn(await api.call('POST', `/v1/keys/${made.keyId}/rotate`, { key: admin }), 'key');
  const answers = [
    await api.call('GET', '/v1/keys', { key: admin }),
    await api.call('GET', '/v1/audit', { key: admin }),
    await api.call('DELETE', `/v1/keys/${made.keyId}`, { key: admin }),
    await api.call('POST', `/v1/keys/${made.keyId}/rotate`, { key: admin }),
  ];
  const said = JSON.stringify([answers, api.logs, entriesOf(api)]);
  expect(said).toContain(made.keyId);
  for (const text of [admin, made.text, rotated]) {
    const secret = text.split('_')[3] ?? '';
    expect(secret).toHaveLength(49);
    expect(said).not.toContain(secret.slice(0, 43));
    expect(said).not.toContain(parseKey(text)?.secretHash ?? secret);
  }
  expect(said).not.toContain('secretHash');
});
