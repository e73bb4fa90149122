/** The start API and the REST API send different events to one function: each request has the same answer through both, and no more rights. */
import { describe, expect, test } from 'vitest';
import type { Route } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';
import { isOnStartApi } from '../../lib/api/start-api.ts';
import type { KeyScope } from '../../lib/ports/control.ts';
import { type Answered, type CallOptions, type Http, http, instantGraph, openGraph, textIn } from './http.ts';

type Front = CallOptions['front'];
type Ask = (method: string, path: string, options?: CallOptions) => Promise<Answered>;

const page = 'https://app.example.com';

interface World {
  readonly api: Http;
  /** with the key, through the front of the test */
  readonly ask: Ask;
  readonly key: string;
}

/** A new world with one published workflow, which two fronts do not share: so the same requests get the same ids. */
async function worldOf(front: Front, scopes: readonly KeyScope[] = ['admin'], graph: object = instantGraph()): Promise<World> {
  const api = http(undefined, undefined, [page]);
  const admin = await api.key(['admin']);
  const key = await api.key(scopes);
  await api.call('POST', '/v1/workflows', { key: admin, body: { name: 'flow', ...graph } });
  const ask: Ask = (method, path, { headers, ...options } = {}) =>
    api.call(method, path, {
      key,
      ...options,
      ...(front === undefined ? {} : { front }),
      headers: { 'Content-Type': 'application/json', 'X-Workflow-Correlation-Id': 'c-1', ...headers },
    });
  return { api, ask, key };
}

const start = (key: string, body: object = { workflowName: 'flow', input: { n: 1 } }): CallOptions => ({
  headers: { 'Idempotency-Key': key },
  body,
});

/** An answer without what is random in each world. */
const comparable = ({ status, headers, body, operation }: Answered) => {
  const text = JSON.stringify({ status, headers: { ...headers, traceparent: '' }, body, operation });
  const ids = new Map<string, string>();
  return JSON.parse(
    text.replaceAll(/(?:wrun|sig|req)_[0-9A-HJKMNP-TV-Z]{26}/g, (id) => {
      const known = ids.get(id) ?? `id-${ids.size}`;
      ids.set(id, known);
      return known;
    }),
  );
};

const cases: readonly (readonly [string, (world: World) => Promise<Answered>, number])[] = [
  ['a start', ({ ask }) => ask('POST', '/v1/runs', start('a')), 202],
  [
    'a repeated start',
    async ({ ask }) => {
      await ask('POST', '/v1/runs', start('a'));
      return ask('POST', '/v1/runs', start('a'));
    },
    202,
  ],
  [
    'the same key with another body',
    async ({ ask }) => {
      await ask('POST', '/v1/runs', start('a'));
      return ask('POST', '/v1/runs', start('a', { workflowName: 'flow', input: { n: 2 } }));
    },
    409,
  ],
  ['a start that waits', ({ ask }) => ask('POST', '/v1/runs', { ...start('a'), query: { wait: '5' } }), 200],
  [
    'a batch',
    ({ ask }) =>
      ask('POST', '/v1/runs/batch', {
        body: { runs: ['a', 'b'].map((idempotencyKey) => ({ workflowName: 'flow', idempotencyKey })) },
      }),
    200,
  ],
  [
    'a read of a run',
    async ({ ask }) => ask('GET', `/v1/runs/${textIn(await ask('POST', '/v1/runs', start('a')), 'runId')}`),
    200,
  ],
  ['a signal by name', ({ ask }) => ask('POST', '/v1/signals', { body: { name: 'paid', correlation: 'x', payload: 1 } }), 202],
  [
    'a signal to an ended run',
    async ({ ask }) =>
      ask('POST', `/v1/runs/${textIn(await ask('POST', '/v1/runs', start('a')), 'runId')}/signals`, { body: { name: 'paid' } }),
    409,
  ],
  ['a body in base64', ({ ask }) => ask('POST', '/v1/runs', { ...start('a'), ...inBase64({ workflowName: 'flow' }) }), 202],
  ['a start without its idempotency key', ({ ask }) => ask('POST', '/v1/runs', { body: { workflowName: 'flow' } }), 400],
  ['a body that is no JSON', ({ ask }) => ask('POST', '/v1/runs', { ...start('a'), text: '{' }), 400],
  ['an unknown field', ({ ask }) => ask('POST', '/v1/runs', start('a', { workflowName: 'flow', inptu: 1 })), 400],
  ['an unknown workflow', ({ ask }) => ask('POST', '/v1/runs', start('a', { workflowName: 'none' })), 409],
  ['an unknown run', ({ ask }) => ask('GET', '/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV'), 404],
  [
    'a body above the limit of the route',
    ({ ask }) => ask('POST', '/v1/runs', start('a', { workflowName: 'flow', input: { text: 'x'.repeat(6_000_000) } })),
    413,
  ],
  ['no key', ({ api }) => unkeyed(api, {}), 401],
  ['another key', ({ api }) => unkeyed(api, { Authorization: 'Bearer sw_test_x_y' }), 401],
  ['a key in the query', ({ ask, key }) => ask('GET', '/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV', { query: { key } }), 400],
  ['plain HTTP', ({ ask }) => ask('POST', '/v1/runs', { ...start('a'), headers: { 'X-Forwarded-Proto': 'http' } }), 400],
  [
    'a claimed HTTPS beside the gateway’s own',
    ({ ask }) => ask('POST', '/v1/runs', { ...start('a'), headers: { 'X-Forwarded-Proto': 'https,http' } }),
    400,
  ],
  [
    'a preflight of an allowed page',
    ({ api }) => unkeyed(api, { Origin: page, 'Access-Control-Request-Method': 'POST' }, 'OPTIONS'),
    204,
  ],
  [
    'a preflight of another page',
    ({ api }) => unkeyed(api, { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' }, 'OPTIONS'),
    405,
  ],
];

const inBase64 = (body: object): CallOptions => ({
  text: Buffer.from(JSON.stringify(body)).toString('base64'),
  isBase64Encoded: true,
});

let frontOfUnkeyed: Front;
const unkeyed = (api: Http, headers: Readonly<Record<string, string>>, method = 'POST'): Promise<Answered> =>
  api.call(method, '/v1/runs', {
    ...(frontOfUnkeyed === undefined ? {} : { front: frontOfUnkeyed }),
    headers: { 'Content-Type': 'application/json', 'X-Workflow-Correlation-Id': 'c-1', 'Idempotency-Key': 'a', ...headers },
    ...(method === 'POST' ? { body: { workflowName: 'flow' } } : {}),
  });

test.each(cases)('%s has the same answer through both fronts', async (_what, request, status) => {
  frontOfUnkeyed = undefined;
  const rest = await request(await worldOf(undefined));
  frontOfUnkeyed = 'start';
  const through = await request(await worldOf('start'));
  expect([rest.status, through.status]).toEqual([status, status]);
  expect(comparable(through)).toEqual(comparable(rest));
});

test.each([
  ['POST', '/v1/runs', start('a')],
  ['POST', '/v1/runs/batch', { body: { runs: [{ workflowName: 'flow', idempotencyKey: 'a' }] } }],
  ['POST', '/v1/signals', { body: { name: 'paid', correlation: 'x' } }],
] as const)('a key without the scope of %s %s is refused here too', async (method, path, options) => {
  const { ask } = await worldOf('start', ['workflows:read']);
  expect(await ask(method, path, options)).toMatchObject({ status: 403, body: { code: 'missing_scope' } });
});

test('a start on one front is repeated, read and signalled on the other', async () => {
  const { api, ask, key } = await worldOf('start', ['admin'], openGraph);
  const first = await api.call('POST', '/v1/runs', { key, ...start('a') });
  const again = await ask('POST', '/v1/runs', start('a'));
  expect([again.status, again.body['runId'], again.headers['idempotency-replayed']]).toEqual([202, first.body['runId'], 'true']);
  expect((await ask('GET', `/v1/runs/${textIn(first, 'runId')}`)).status).toBe(200);
});

test('the limit of a key counts the requests of both fronts', async () => {
  const { api } = await worldOf('start');
  const key = await api.key(['runs:read'], { rateLimitPerMinute: 2 });
  const read = (front: Front) =>
    api.call('GET', '/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV', { key, ...(front === undefined ? {} : { front }) });
  expect([(await read(undefined)).status, (await read('start')).status]).toEqual([404, 404]);
  for (const front of [undefined, 'start'] as const) {
    const refused = await read(front);
    expect([refused.status, refused.body['code'], Number(refused.headers['retry-after']) > 0]).toEqual([
      429,
      'rate_limited',
      true,
    ]);
  }
});

test('the audit trail has the address of the connection, and not one that the caller claims', async () => {
  const { api, ask } = await worldOf('start');
  const claims = { 'X-Forwarded-For': '203.0.113.9', Forwarded: 'for=203.0.113.9', 'X-Real-Ip': '203.0.113.9' };
  const options = start('a');
  await ask('POST', '/v1/runs', { ...options, headers: { ...options.headers, ...claims } });
  const entries = [...api.world.audit.entries.values()].filter(({ action }) => action === 'runs.create');
  expect(entries.map(({ ip }) => ip)).toEqual(['192.0.2.1']);
  expect(JSON.stringify(entries)).not.toContain('203.0.113.9');
});

describe('the cookie of a session', () => {
  const restHost = 'rest.execute-api.eu-west-1.amazonaws.com';
  const startHost = 'start.execute-api.eu-west-1.amazonaws.com';
  const samePage = { Host: restHost, 'Sec-Fetch-Site': 'same-origin' };

  async function signedIn() {
    const { api, key } = await worldOf('start');
    const link = textIn(await api.call('POST', '/v1/sessions/links', { key }), 'link');
    const answer = await api.call('POST', '/v1/sessions/exchange', { body: { link }, headers: samePage });
    const Cookie = (answer.headers['set-cookie'] ?? '').split(';')[0] ?? '';
    const read = (headers: Readonly<Record<string, string>>, front: Front = 'start') =>
      api.call('GET', '/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV', {
        ...(front === undefined ? {} : { front }),
        headers: { Cookie, ...headers },
      });
    return { api, Cookie, read };
  }

  test('is set for one host, which is not the one of the start API', async () => {
    const { Cookie, read, api } = await signedIn();
    // A browser sends a cookie with this prefix to the host that set it only.
    expect(Cookie).toMatch(/^__Host-stepwell=/);
    // It is a valid one: 404 is the answer to the read.
    expect((await api.call('GET', '/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV', { headers: { Cookie, ...samePage } })).status).toBe(
      404,
    );
    expect((await read({ Host: startHost })).status).toBe(403);
  });

  test.each([
    ['a page of the console, which has the host of the REST API', { Origin: `https://${restHost}` }],
    ['such a page, in a browser that says so', { Origin: `https://${restHost}`, 'Sec-Fetch-Site': 'cross-site' }],
    [
      'a page of another API of the region',
      { 'Sec-Fetch-Site': 'same-site', Origin: 'https://other.execute-api.eu-west-1.amazonaws.com' },
    ],
    ['a page that `corsOrigins` allows', { Origin: page, 'Sec-Fetch-Site': 'cross-site' }],
    ['a page that claims the host in another header', { Origin: `https://${restHost}`, 'X-Forwarded-Host': restHost }],
    ['a followed link', { 'Sec-Fetch-Site': 'none' }],
    ['a program without both', {}],
  ])('is refused from %s', async (_who, headers) => {
    const { read } = await signedIn();
    expect(await read({ Host: startHost, ...headers })).toMatchObject({ status: 403, body: { code: 'cross_origin' } });
  });

  test('no route of the start API signs in, and no answer of it sets a cookie', async () => {
    const marked = routes.filter(({ operationId }) => isOnStartApi(operationId));
    expect(marked).toHaveLength(5);
    expect(marked.filter((route: Route) => route.credential === 'session' || route.scope === null)).toEqual([]);
    const { ask } = await worldOf('start');
    for (const options of [start('a'), { ...start('b'), query: { wait: '1' } }])
      expect((await ask('POST', '/v1/runs', options)).headers).not.toHaveProperty('set-cookie');
  });
});
