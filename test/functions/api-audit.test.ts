/** The audit trail over HTTP: who did what, newest first. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { after, days, iso, seconds } from '../../lib/engine/time.ts';
import { type Answered, type Http, http, instantGraph, textIn } from './http.ts';

const rows = (answer: Answered) =>
  z.object({ data: z.array(z.looseObject({ action: z.string(), resource: z.string() })) }).parse(answer.body).data;
const idOf = (key: string): string => key.split('_')[2] ?? '';
const audit = (api: Http, key: string, query: Record<string, string> = {}) => api.call('GET', '/v1/audit', { key, query });

/** Publishes workflows, a second after each other. */
const publish = async (api: Http, key: string, names: readonly string[]): Promise<void> => {
  for (const name of names) {
    api.world.clock.advance(seconds(1));
    await api.call('POST', '/v1/workflows', { key, body: { name, ...instantGraph() } });
  }
};

test('entries are shown as they were recorded, the newest first', async () => {
  const api = http();
  const key = await api.key(['admin']);
  await publish(api, key, ['a']);
  const at = iso(api.world.clock.now());
  api.world.clock.advance(seconds(1));
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const headers = { 'x-workflow-correlation-id': 'corr-1', traceparent };
  await api.call('DELETE', '/v1/workflows/b', { key, headers });
  const answer = await audit(api, key);
  expect(answer.body).toMatchObject({ cursor: null, hasMore: false });
  expect(rows(answer)).toEqual([
    {
      id: expect.any(String),
      at: iso(api.world.clock.now()),
      keyId: idOf(key),
      action: 'workflows.archive',
      resource: 'workflow/b',
      result: 'failure',
      ip: '192.0.2.1',
      userAgent: 'test',
      metadata: {
        lane: 'public',
        correlationId: 'corr-1',
        traceId: '0af7651916cd43dd8448eb211c80319c',
        deduped: false,
        status: 404,
        code: 'workflow_not_found',
      },
    },
    expect.objectContaining({ at, action: 'workflows.create', resource: 'workflow/a', result: 'success' }),
  ]);
});

test('pages give every entry once, over days', async () => {
  const api = http();
  const key = await api.key(['admin']);
  await publish(api, key, ['a', 'b']);
  api.world.clock.advance(days(3));
  await publish(api, key, ['c', 'd', 'e']);
  const found: string[] = [];
  let query: Record<string, string> | undefined = { limit: '2' };
  while (query !== undefined) {
    const answer = await audit(api, key, query);
    found.push(...rows(answer).map(({ resource }) => resource));
    query = answer.body['hasMore'] === true ? { limit: '2', cursor: textIn(answer, 'cursor') } : undefined;
  }
  expect(found).toEqual(['e', 'd', 'c', 'b', 'a'].map((name) => `workflow/${name}`));
});

test('filters narrow by action, result, key and time', async () => {
  const api = http();
  const [one, other] = [await api.key(['admin']), await api.key(['admin'])];
  const start = api.world.clock.now();
  await publish(api, one, ['a', 'b']);
  await publish(api, other, ['a', 'c']);
  await api.call('DELETE', '/v1/workflows/c', { key: one });
  const found = async (query: Record<string, string>) =>
    rows(await audit(api, one, query)).map(({ action, resource }) => `${action} ${resource}`);
  expect(await found({ action: 'workflows.archive' })).toEqual(['workflows.archive workflow/c']);
  expect(await found({ result: 'failure' })).toEqual(['workflows.create workflow/a']);
  expect(await found({ keyId: idOf(other), result: 'success' })).toEqual(['workflows.create workflow/c']);
  const [second, third] = [iso(after(start, seconds(2))), iso(after(start, seconds(3)))];
  expect(await found({ since: second, until: third })).toEqual(['workflows.create workflow/b']);
  expect(await found({ until: second })).toEqual(['workflows.create workflow/a']);
  expect(await found({ until: '9999-12-31T23:59:59Z', since: '1969-01-01T00:00:00Z', keyId: 'nobodyatall' })).toEqual([]);
});

test('a search with a selective filter continues at its cursor', async () => {
  const api = http();
  const key = await api.key(['admin'], { rateLimitPerMinute: null });
  await publish(api, key, ['wanted']);
  api.world.clock.advance(seconds(1));
  for (let count = 0; count < 1_000; count += 1) await api.call('DELETE', '/v1/workflows/nothing', { key });
  api.world.clock.advance(seconds(1));
  const query = { action: 'workflows.create', limit: '1' };
  const first = await audit(api, key, query);
  expect([rows(first), first.body['hasMore']]).toEqual([[], true]);
  const second = await audit(api, key, { ...query, cursor: textIn(first, 'cursor') });
  expect(rows(second)).toMatchObject([{ resource: 'workflow/wanted' }]);
  expect(second.body).toMatchObject({ cursor: null, hasMore: false });
});

test('a failed authentication is listed for the project of the named key, and without a key for no project', async () => {
  const api = http();
  const admin = await api.key(['admin']);
  const revoked = await api.key(['admin'], { revokedAt: api.world.clock.now() });
  await api.call('GET', '/v1/runs', { key: revoked });
  await api.call('GET', '/v1/runs');
  expect(rows(await audit(api, admin))).toMatchObject([
    { action: 'auth.failure', keyId: idOf(revoked), metadata: { why: 'revoked' } },
  ]);
});

test('nothing of another project or environment is shown, and its cursors are invalid', async () => {
  const api = http();
  const own = await api.key(['admin']);
  await publish(api, own, ['a', 'b']);
  const cursor = textIn(await audit(api, own, { limit: '1' }), 'cursor');
  for (const other of [{ project: 'rival' }, { env: 'live' }]) {
    const foreign = await api.key(['admin'], other);
    expect((await audit(api, foreign, { keyId: idOf(own) })).body).toEqual({ data: [], cursor: null, hasMore: false });
    const stolen = await audit(api, foreign, { limit: '1', cursor });
    expect([stolen.status, stolen.body['code']]).toEqual([400, 'cursor_invalid']);
  }
  // … nor are they for other filters
  expect((await audit(api, own, { limit: '1', cursor, result: 'failure' })).status).toBe(400);
});

test('a forged cursor reaches no other data and causes no error', async () => {
  const api = http();
  const key = await api.key(['admin']);
  await publish(api, key, ['a', 'b']);
  const given = textIn(await audit(api, key, { limit: '1' }), 'cursor');
  const [tag] = z.tuple([z.string(), z.unknown()]).parse(JSON.parse(Buffer.from(given, 'base64url').toString()));
  const forged = (position: unknown) => Buffer.from(JSON.stringify([tag, position])).toString('base64url');
  for (const position of [{ at: 1e300, id: 'x' }, { at: -1, id: 'x' }, { at: 1, id: 'x'.repeat(1_100) }, { at: 1, id: '' }, 7]) {
    expect((await audit(api, key, { limit: '1', cursor: forged(position) })).status).toBe(400);
  }
  const late = await audit(api, key, { limit: '1', cursor: forged({ at: 253_402_300_799_999, id: 'x' }) });
  expect(rows(late)).toMatchObject([{ resource: 'workflow/b' }]);
});
