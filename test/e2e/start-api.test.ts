/** The start API of the embedded cloud, beside its REST API: the same requests through both, and what only one of them answers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Run, StepwellClient } from '../../lib/client/index.ts';
import type { RecordedCall } from '../../lib/local/recorder.ts';
import { checks, startApiChecks } from '../../scripts/verify-checks.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

const page = 'https://app.example.com';
const flow = {
  name: 'flow',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'work', type: 'javascript', config: { code: 'return ctx.input.n * 2', outputVariable: 'twice' } },
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'twice', sourceVariable: '{{ctx.twice}}' }] } },
  ],
  edges: [
    { source: 'start', target: 'work' },
    { source: 'work', target: 'end' },
  ],
};

let here: InProcessCloud;
let startUrl: string;
let otherKey: string;
const recorded: RecordedCall[] = [];
beforeAll(async () => {
  here = await startInProcessCloud({ 'stepwell:corsOrigins': [page] });
  startUrl = here.cloud.startUrl ?? '';
  here.cloud.recorder.listen((call) => void recorded.push(call));
  expect((await here.call('POST', '/v1/workflows', flow)).status).toBe(201);
  otherKey = await here.createKey('--project', 'default', '--environment', 'local', '--scopes', 'workflows:read');
});
afterAll(() => here.stop());

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string | null;
}

const send = async (url: string, { method, path, body, headers = {}, key = here.apiKey }: Sent) => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
};

const start = (key: string, input: object = { n: 2 }): Sent => ({
  method: 'POST',
  path: '/v1/runs',
  body: { workflowName: 'flow', input },
  headers: { 'idempotency-key': key },
});
const unknownRun = '/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };

const answers: readonly (readonly [string, (front: string) => Sent, number])[] = [
  ['a start', (front) => start(`start-${front}`), 202],
  ['a start that waits', (front) => ({ ...start(`wait-${front}`), path: '/v1/runs?wait=20' }), 200],
  [
    'a batch',
    (front) => ({
      method: 'POST',
      path: '/v1/runs/batch',
      body: { runs: [1, 2].map((n) => ({ workflowName: 'flow', input: { n }, idempotencyKey: `batch-${front}-${n}` })) },
    }),
    200,
  ],
  ['a start of 1 MB', (front) => start(`large-${front}`, { n: 1, text: 'x'.repeat(1_000_000) }), 202],
  ['a signal', (front) => ({ method: 'POST', path: '/v1/signals', body: { name: 'paid', correlation: front } }), 202],
  ['an unknown run', () => ({ method: 'GET', path: unknownRun }), 404],
  ['a signal to an unknown run', () => ({ method: 'POST', path: `${unknownRun}/signals`, body: { name: 'paid' } }), 404],
  ['a start without an idempotency key', () => ({ ...start(''), headers: {} }), 400],
  ['a body that is no JSON', () => ({ ...start('json'), body: '{' }), 400],
  ['a body of 7 MB', () => start('seven', { text: 'x'.repeat(7_000_000) }), 413],
  ['no key', () => ({ ...start('none'), key: null }), 401],
  ['a wrong key', () => ({ ...start('wrong'), key: 'sw_local_x_y' }), 401],
  ['a key without the scope', () => ({ ...start('scope'), key: otherKey }), 403],
  [
    'a preflight of an allowed page',
    () => ({ method: 'OPTIONS', path: '/v1/runs', key: null, headers: { ...preflight, origin: page } }),
    204,
  ],
  ['a request of an allowed page', () => ({ method: 'GET', path: unknownRun, headers: { origin: page } }), 404],
  ['a request of another page', () => ({ method: 'GET', path: unknownRun, headers: { origin: 'https://evil.example' } }), 403],
];

/** Names and types of the fields, because ids and times differ. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]));
};

test.each(answers)('%s has the same answer through both', async (what, request, status) => {
  const [rest, through] = [await send(here.url, request('rest')), await send(startUrl, request('start'))];
  expect([rest.status, through.status]).toEqual([status, status]);
  // The gateway's own answer has another form: it refuses an event above Lambda's limit.
  if (what === 'a body of 7 MB') return expect(through.body).toEqual({ message: 'Request Entity Too Large' });
  expect(shapeOf(through.body)).toEqual(shapeOf(rest.body));
  const code = z.looseObject({ code: z.string() });
  expect(code.safeParse(through.body).data?.code).toBe(code.safeParse(rest.body).data?.code);
  for (const name of ['content-type', 'access-control-allow-origin', 'access-control-allow-methods', 'vary', 'cache-control'])
    expect([name, through.headers.get(name)]).toEqual([name, rest.headers.get(name)]);
});

test.each([
  ['GET', '/v1/runs'],
  ['GET', '/v1/keys'],
  ['GET', '/v1/health'],
  ['GET', '/console'],
  ['POST', '/v1/sessions'],
  ['GET', `${unknownRun}/events`],
  ['POST', `${unknownRun}/cancel`],
  ['DELETE', unknownRun],
  ['POST', '/v1/runs/'],
  ['GET', '//v1/keys'],
  ['GET', '/v1/runs/..%2Fkeys'],
  ['GET', ''],
])('%s %s is no route of the start API', async (method, path) => {
  const { status, body } = await send(startUrl, { method, path });
  // A parameter may have any text: the function then finds no run of that name.
  if (path.includes('%2F')) expect([status, body]).toMatchObject([404, { code: 'not_found' }]);
  else expect([status, body]).toEqual([404, { message: 'Not Found' }]);
});

describe('the client', () => {
  test('starts, waits and signals through the start API, and does the rest through the other', async () => {
    const client = new StepwellClient({ baseUrl: here.url, startUrl, apiKey: here.apiKey });
    recorded.length = 0;
    const { runId } = await client.trigger({ workflowName: 'flow', input: { n: 21 } });
    const run: Run = await client.result(runId, { timeoutMs: 30_000 });
    expect(run).toMatchObject({ status: 'completed', output: { twice: 42 } });
    expect((await client.listRuns()).data.length).toBeGreaterThan(0);
    const requests = recorded
      .filter(({ caller }) => caller === 'client')
      .map(({ service, operation }) => `${service} ${operation}`);
    expect([...new Set(requests)].toSorted()).toEqual([
      'apigateway GET /v1/runs',
      'apigatewayv2 GET /v1/runs/{runId}',
      'apigatewayv2 POST /v1/runs',
    ]);
  });
});

test('a start makes the same calls of AWS through both', async () => {
  const callsOf = async (url: string, key: string): Promise<readonly string[]> => {
    await send(url, { ...start(`warm-${key}`), path: '/v1/runs?wait=20' });
    recorded.length = 0;
    await send(url, { ...start(key), path: '/v1/runs?wait=20' });
    return recorded
      .filter(({ caller, service }) => /Api/.test(caller) && service !== 'lambda')
      .map(({ service, operation }) => `${service} ${operation}`)
      .toSorted();
  };
  const rest = await callsOf(here.url, 'calls-rest');
  expect(rest.length).toBeGreaterThan(3);
  expect(await callsOf(startUrl, 'calls-start')).toEqual(rest);
});

describe('the checks of an installation', () => {
  const installation = () => ({ url: here.url, apiKey: here.apiKey, uniqueSuffix: 'e2e', runTimeoutMs: 30_000 });

  test('pass for the start API, and fail for another address', async () => {
    const published = checks.find(({ name }) => name === 'a workflow is published as version 1');
    await published?.run(installation());
    for (const check of startApiChecks(startUrl)) await check.run(installation());
    const wrong = startApiChecks(`${startUrl}/none`);
    for (const check of wrong.slice(0, 2)) await expect(check.run(installation()), check.name).rejects.toThrow();
    const [, , others] = startApiChecks(here.url);
    await expect(others?.run(installation())).rejects.toThrow();
  });
});
