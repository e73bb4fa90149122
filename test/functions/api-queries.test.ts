/** Stored queries over HTTP: published, judged, read, listed and archived. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Http, http, textIn } from './http.ts';
import { askShop, findInAurora, findOrder } from './queries.ts';

const withKey = async (): Promise<readonly [Http, string]> => {
  const api = http();
  return [api, await api.key(['queries:read', 'queries:write'])];
};
const post = (api: Http, key: string, body: object, path = '/v1/queries') => api.call('POST', path, { key, body });

test('a query is published, and comes back as it may be published again', async () => {
  const [api, key] = await withKey();
  const made = await post(api, key, findOrder);
  expect([made.status, made.body, made.headers['location']]).toMatchObject([
    201,
    { name: 'find-order', version: 1, warnings: [] },
    '/v1/queries/find-order',
  ]);
  await post(api, key, askShop);
  const query = {
    ...findOrder,
    parameters: [findOrder.parameters[0], { ...findOrder.parameters[1], required: false }],
    readOnly: true,
    maxRows: 1_000,
    maxBytes: 1_048_576,
    timeoutMs: 30_000,
  };
  const { body } = await api.call('GET', '/v1/queries/find-order', { key });
  expect(body).toMatchObject({ name: 'find-order', kind: 'postgres', latestVersion: 1, version: 1 });
  expect(body['query']).toEqual(query);
  const shop = await api.call('GET', '/v1/queries/ask-shop', { key });
  expect(shop.body['query']).toMatchObject({ kind: 'http', request: askShop.request });
  const again = await post(api, key, query, '/v1/queries/find-order/versions');
  expect([again.status, again.body['version'], again.headers['location']]).toEqual([201, 2, '/v1/queries/find-order?version=2']);
});

test('the workflow scopes do not include queries, which have their own scopes', async () => {
  const api = http();
  const key = await api.key(['workflows:read', 'workflows:write', 'trigger:write', 'runs:write']);
  const refused = async (method: string, path: string, body?: object) => {
    const answer = await api.call(method, path, { key, ...(body === undefined ? {} : { body }) });
    return [answer.status, answer.body['required']];
  };
  const statement = { kind: 'postgres', connection: 'db', statement: 'drop table orders' };
  expect(await refused('POST', '/v1/queries', { name: 'mine', ...statement })).toEqual([403, 'queries:write']);
  expect(await refused('POST', '/v1/queries/orders/versions', statement)).toEqual([403, 'queries:write']);
  expect(await refused('DELETE', '/v1/queries/orders')).toEqual([403, 'queries:write']);
  expect(await refused('GET', '/v1/queries')).toEqual([403, 'queries:read']);
  expect(await refused('GET', '/v1/queries/orders')).toEqual([403, 'queries:read']);
});

test('a header that the sender sets is refused, at a first publication and at a later one', async () => {
  const [api, key] = await withKey();
  await post(api, key, askShop);
  const request = { headers: { 'Transfer-Encoding': 'chunked', 'x-fine': 'a', Host: 'evil.example' } };
  const draft = { kind: 'http', connection: 'https://a.test', request };
  for (const answer of [
    await post(api, key, { ...draft, name: 'smuggle' }),
    await post(api, key, draft, '/v1/queries/ask-shop/versions'),
  ]) {
    expect([answer.status, answer.body['code']]).toEqual([400, 'definition_invalid']);
    const at = (name: string) => ({
      code: 'config_invalid',
      pointer: `/request/headers/${name}`,
      message: 'is set by the sender',
    });
    expect(answer.body['errors']).toMatchObject([at('Transfer-Encoding'), at('Host')]);
  }
});

test('a query for the Data API is published like any other', async () => {
  const [api, key] = await withKey();
  expect((await post(api, key, { ...findInAurora, statement: `${findInAurora.statement};`, timeoutMs: 45_000 })).status).toBe(
    201,
  );
  const { body } = await api.call('GET', '/v1/queries/find-in-aurora', { key });
  expect(body).toMatchObject({
    kind: 'aurora',
    query: { kind: 'aurora', connection: 'orders', readOnly: true, maxRows: 1_000, maxBytes: 1_048_576, timeoutMs: 45_000 },
  });
  expect((await api.call('GET', '/v1/queries', { key })).body['data']).toMatchObject([{ kind: 'aurora' }]);
});

test('a version stays as it was published, and one that does not exist is not found', async () => {
  const [api, key] = await withKey();
  await post(api, key, findOrder);
  await post(api, key, { kind: 'http', connection: 'https://a.test', request: {} }, '/v1/queries/find-order/versions');
  const first = await api.call('GET', '/v1/queries/find-order', { key, query: { version: '1' } });
  expect(first.body).toMatchObject({ kind: 'http', latestVersion: 2, version: 1, query: { kind: 'postgres' } });
  const none = await api.call('GET', '/v1/queries/find-order', { key, query: { version: '3' } });
  expect([none.status, none.body['code']]).toEqual([404, 'not_found']);
});

test('they are listed by name, page by page; an archived one only when asked for', async () => {
  const [api, key] = await withKey();
  for (const name of ['c', 'a', 'b']) await post(api, key, { ...findOrder, name });
  const archived = await api.call('DELETE', '/v1/queries/b', { key });
  expect(archived.body).toEqual({ name: 'b', archivedAt: '2026-01-01T00:00:00.000Z' });
  const page = await api.call('GET', '/v1/queries', { key, query: { limit: '1' } });
  expect(page.body).toMatchObject({ data: [{ name: 'a', kind: 'postgres' }], hasMore: true });
  const cursor = textIn(page, 'cursor');
  const next = await api.call('GET', '/v1/queries', { key, query: { limit: '1', cursor } });
  expect(next.body).toMatchObject({ data: [{ name: 'c' }], hasMore: false, cursor: null });
  const all = await api.call('GET', '/v1/queries', { key, query: { archived: 'true' } });
  expect(all.body['data']).toMatchObject([{ name: 'a' }, { name: 'b', archivedAt: '2026-01-01T00:00:00.000Z' }, { name: 'c' }]);
});

test('the next version of an archived query opens its name again', async () => {
  const [api, key] = await withKey();
  await post(api, key, { ...findOrder, name: 'b' });
  await api.call('DELETE', '/v1/queries/b', { key });
  const published = await post(api, key, { ...findOrder, name: 'b' }, '/v1/queries/b/versions');
  expect(published).toMatchObject({ status: 201, body: { version: 2, unarchived: true } });
  expect([...api.world.audit.entries.values()].find(({ action }) => action === 'queries.publish')).toMatchObject({
    metadata: { version: 2, unarchived: true },
  });
  expect((await api.call('GET', '/v1/queries/b', { key })).body).not.toHaveProperty('archivedAt');
});

describe('every error is reported at once, with its JSON pointer', () => {
  test.each([
    [
      'a postgres query',
      {
        ...findOrder,
        connection: 'postgres://me:pw@db/orders',
        statement: "select :other, 'it''s :no' from t where a = :customer",
        request: {},
        parameters: [...findOrder.parameters, { name: 'customer', type: 'number', default: 'x' }],
      },
      [
        'config_invalid /request',
        'config_invalid /connection',
        'parameter_unknown /statement',
        'parameter_unused /parameters/1/name',
        'argument_invalid /parameters/2/name',
        'argument_invalid /parameters/2/default',
      ],
    ],
    ['a statement that does not end', { ...findOrder, statement: "select 'x" }, ['statement_invalid /statement']],
    ['a numbered parameter', { ...findOrder, statement: 'select $1' }, ['statement_invalid /statement']],
    ['no statement', { ...findOrder, statement: undefined }, ['config_invalid /statement']],
    [
      'an aurora query',
      {
        ...findInAurora,
        connection: 'arn:aws:rds:eu-west-1:111122223333:cluster:orders',
        statement: 'commit; delete from orders where customer = :other',
        request: {},
        maxBytes: 1_048_577,
        timeoutMs: 45_001,
      },
      [
        'config_invalid /request',
        'config_invalid /connection',
        'config_invalid /maxBytes',
        'config_invalid /timeoutMs',
        'statement_invalid /statement',
        'parameter_unknown /statement',
      ],
    ],
    [
      'an http query',
      {
        ...askShop,
        connection: 'https://u:p@shop.example.com',
        statement: 'x',
        request: { path: '/a?b=:id', query: { a: '{{ctx.nobody}}' }, headers: { a: '{{nope}}' } },
      },
      [
        'config_invalid /connection',
        'config_invalid /statement',
        'config_invalid /request/path',
        'template_invalid /request/headers/a',
        'parameter_unknown /request/query',
      ],
    ],
    ['no request', { ...askShop, request: undefined }, ['config_invalid /request']],
  ])('%s', async (_what, body, found) => {
    const [api, key] = await withKey();
    const { status, body: answer } = await post(api, key, body);
    expect([status, answer['code']]).toEqual([400, 'definition_invalid']);
    const errors = z.array(z.looseObject({ code: z.string(), pointer: z.string() })).parse(answer['errors']);
    expect(errors.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual(expect.arrayContaining(found));
    expect((await api.call('GET', `/v1/queries/${body.name}`, { key })).status).toBe(404);
  });

  test('an unused parameter is a warning, not an error', async () => {
    const [api, key] = await withKey();
    const made = await post(api, key, { ...findOrder, statement: 'select :customer' });
    expect([made.status, made.body['warnings']]).toMatchObject([
      201,
      [{ severity: 'warning', code: 'parameter_unused', pointer: '/parameters/1/name' }],
    ]);
  });

  test('a body of another shape, too', async () => {
    const [api, key] = await withKey();
    const { status, body } = await post(api, key, { name: 'a b', kind: 'mysql', maxRows: 0, more: 1 });
    expect([status, body['code']]).toEqual([400, 'invalid_request']);
    expect(JSON.stringify(body['errors'])).toMatch(/\/name.*\/kind.*\/maxRows/);
  });
});

test('another name than the path’s is refused, and so is one that nobody has', async () => {
  const [api, key] = await withKey();
  await post(api, key, findOrder);
  const other = await post(api, key, { ...findOrder, name: 'other' }, '/v1/queries/find-order/versions');
  expect([other.status, other.body['errors']]).toMatchObject([400, [{ pointer: '/name', code: 'name_differs' }]]);
  for (const [method, path] of [
    ['POST', '/v1/queries/nobody/versions'],
    ['DELETE', '/v1/queries/nobody'],
  ] as const) {
    const { name: _name, ...body } = findOrder;
    const { status, body: answer } = await api.call(method, path, method === 'POST' ? { key, body } : { key });
    expect([status, answer['code']]).toEqual([404, 'query_not_found']);
  }
});
