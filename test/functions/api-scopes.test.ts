/** Scopes and routes, each with each, from the table itself. */
import { describe, expect, test } from 'vitest';
import type { Route } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';
import { keyScopes } from '../../lib/ports/control.ts';
import { http } from './http.ts';

const pathOf = (path: string): string =>
  path.replace('{runId}', 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV').replace('{name}', 'flow').replace('{keyId}', 'unknownkey');
/** Of a session alone: test/functions/sessions.test.ts. */
const acceptsNoKey = ({ credential }: Route): boolean => credential === 'session';
const keyed = routes.flatMap((route) =>
  route.scope === null || acceptsNoKey(route) ? [] : [{ ...route, id: `${route.method} ${route.path}` }],
);

describe.each(keyed)('$id', ({ method, path, scope }) => {
  test('a socket without a valid key is refused', async () => {
    const api = http();
    const good = await api.key(['admin']);
    const texts = [undefined, '', 'sw_test_x_y', good.slice(0, -1), `${good}x`, good.replace('sw_test', 'sw_live')];
    for (const key of texts) {
      const { status, body } = await api.call(method, pathOf(path), key === undefined ? {} : { key });
      expect([status, body['code']]).toEqual([401, 'unauthorized']);
    }
  });

  test.each(keyScopes.filter((other) => other !== scope && other !== 'admin'))('the scope %s is not enough', async (other) => {
    const api = http();
    const { status, body } = await api.call(method, pathOf(path), { key: await api.key([other]) });
    expect([status, body['code'], body['required']]).toEqual([403, 'missing_scope', scope]);
  });

  test.each([scope, 'admin'] as const)('the scope %s is', async (own) => {
    const api = http();
    const { status } = await api.call(method, pathOf(path), { key: await api.key([own]) });
    expect([401, 403]).not.toContain(status);
  });
});

test('routes without a scope answer without a key', async () => {
  const open = routes.filter(({ scope }) => scope === null);
  expect(open.map(({ operationId }) => operationId)).toEqual([
    'getHealth',
    'getOpenApi',
    'exchangeSessionLink',
    'createSession',
    'getSignInProvider',
    'signInWithProvider',
    'deleteSession',
    'receiveWebhook',
  ]);
  for (const { method, path, responses } of open.filter(({ operationId }) => ['getHealth', 'getOpenApi'].includes(operationId))) {
    expect([(await http().call(method, path)).status]).toEqual(Object.keys(responses).map(Number));
  }
  expect((await http().call('POST', '/v1/webhooks/git')).status).toBe(401);
});
