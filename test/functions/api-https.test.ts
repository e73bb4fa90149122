/** HTTPS is proven by what the gateway says, and by nothing else. */
import { describe, expect, test } from 'vitest';
import { routes } from '../../lib/api/routes.ts';
import { http } from './http.ts';

const proto = (value: string) => ({ headers: { 'X-Forwarded-Proto': value } });

describe.each(routes)('$method $path', ({ method, path, operationId }) => {
  test.each([
    ['is said to be http', 'http'],
    ['is not said to be anything', ''],
    ['came over a list of hops', 'https,http'],
    ['came over a list that ends well', 'http, https'],
    ['is https twice over', 'https, https'],
  ])('a request that %s is refused before its key is looked at', async (_name, value) => {
    const api = http();
    const { status, body } = await api.call(method, path, { key: 'sw_none', ...proto(value) });
    if (operationId === 'getHealth') expect(status).toBe(200);
    else expect([status, body['code']]).toEqual([400, 'https_required']);
    expect(api.world.audit.entries.size).toBe(0);
  });
});

test('one that is said to be https is answered', async () => {
  expect((await http().call('GET', '/v1/openapi.json', proto('https'))).status).toBe(200);
});
