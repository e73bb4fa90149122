/** The embedded cloud refuses others: each port is called without credentials and as from a browser page. */
import { request } from 'node:http';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type Signer, signedHeaders } from '../signed-request.ts';
import { argumentsOf, listeningOf, processTree } from './listening.ts';
import { type LocalStart, preparedFolder, startLocal } from './local-start.ts';

const infoShape = z.object({
  clock: z.object({ url: z.string(), token: z.string() }),
  apiKey: z.string(),
  webhookSecret: z.string(),
  tables: z.object({ url: z.string(), accessKeyId: z.string(), secretAccessKey: z.string() }),
});
const directory = preparedFolder();
let local: LocalStart;
let info: z.infer<typeof infoShape>;
beforeAll(async () => {
  local = await startLocal(directory);
  info = infoShape.parse(JSON.parse(readFileSync(join(directory, 'local.json'), 'utf8')));
});
afterAll(() => local.end('SIGTERM'));

interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}
const attempt = (method: string, path: string, headers: Record<string, string> = {}, body = ''): Attempt => ({
  method,
  path,
  headers,
  body,
});

const awsJson = { 'content-type': 'application/x-amz-json-1.0' };
const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** Requests of an attacker who has found a port: each service's list operations. Health and openapi.json are public. */
const attempts: readonly Attempt[] = [
  attempt('GET', '/'),
  attempt('GET', '/v1/runs'),
  attempt('GET', '/v1/keys'),
  attempt('POST', '/v1/runs', { 'content-type': 'application/json', 'idempotency-key': 'k' }, '{"workflowName":"a"}'),
  attempt('POST', '/start-api/v1/runs', { 'content-type': 'application/json', 'idempotency-key': 'k' }, '{"workflowName":"a"}'),
  attempt('GET', '/start-api/v1/keys'),
  attempt('POST', '/', { ...awsJson, 'x-amz-target': 'DynamoDB_20120810.ListTables' }, '{}'),
  attempt('POST', '/', { ...awsJson, 'x-amz-target': 'AmazonSQS.ListQueues' }, '{}'),
  attempt('POST', '/', { ...awsJson, 'x-amz-target': 'secretsmanager.ListSecrets' }, '{}'),
  attempt('POST', '/', { 'content-type': 'application/x-www-form-urlencoded' }, 'Action=ListQueues'),
  attempt('GET', '/bucket?list-type=2'),
  attempt('POST', '/2015-03-31/functions/worker/invocations', {}, '{}'),
  attempt('GET', '/shell'),
  attempt(
    'POST',
    '/mcp',
    { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  ),
  attempt('OPTIONS', '/', { origin: 'http://evil.example', 'access-control-request-method': 'POST' }),
  attempt('GET', '/live', upgrade),
];

interface Answer {
  readonly status: number;
  readonly cors: readonly string[];
}

const ask = (port: number, { method, path, headers, body }: Attempt): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers: { host: `127.0.0.1:${port}`, ...headers } });
    outgoing.on('error', reject);
    outgoing.on('upgrade', (_response, socket) => {
      socket.destroy();
      resolve({ status: 101, cors: [] });
    });
    outgoing.on('response', (response) => {
      response.resume();
      const cors = Object.keys(response.headers).filter((name) => name.startsWith('access-control-'));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, cors }));
    });
    outgoing.end(body);
  });

const ports = () => listeningOf(processTree(local.pid)).tcp;

/** Signed for the request's host, by the owner's key unless another is given. */
const signed = (
  port: number,
  one: Attempt,
  service = 'dynamodb',
  signer: Partial<Signer> = {},
  host = `127.0.0.1:${port}`,
): Attempt => {
  const { method, path, headers, body } = one;
  const own = { ...info.tables, ...signer, url: `http://${host}` };
  return { ...one, headers: signedHeaders(own, service, { method, path, headers, body: Buffer.from(body) }) };
};
const withKey = (one: Attempt, key = info.apiKey): Attempt => ({
  ...one,
  headers: { ...one.headers, authorization: `Bearer ${key}` },
});
const listTables = attempt('POST', '/', { ...awsJson, 'x-amz-target': 'DynamoDB_20120810.ListTables' }, '{}');
const listRuns = attempt('GET', '/v1/runs');

/** Valid requests: each port responds to one of the two. */
const welcome = async (
  port: number,
  extra: Record<string, string> = {},
  host = `127.0.0.1:${port}`,
): Promise<readonly Answer[]> => {
  const plus = (one: Attempt): Attempt => ({ ...one, headers: { ...one.headers, host, ...extra } });
  return [await ask(port, plus(withKey(listRuns))), await ask(port, plus(signed(port, listTables, 'dynamodb', {}, host)))];
};

test('it listens on this machine alone, and responds to valid credentials', async () => {
  const found = ports();
  // The API, the AWS gateway, the WebSocket API and the clock: the emulators have no port.
  expect(found).toHaveLength(4);
  const clockPort = Number(new URL(info.clock.url).port);
  for (const { address, port } of found) {
    expect(address).toBe('0100007F');
    if (port !== clockPort) expect((await welcome(port)).map(({ status }) => status)).toContain(200);
  }
  const askClock = (token: string) =>
    ask(clockPort, withKey(attempt('POST', '/', { host: `127.0.0.1:${clockPort}` }, '{}'), token));
  // 400: the token is right, and the body asks for nothing.
  expect([(await askClock(info.clock.token)).status, (await askClock(info.apiKey)).status]).toEqual([400, 403]);
});

test('Unix sockets are in folders of their owner alone, and none is abstract', () => {
  for (const path of listeningOf(processTree(local.pid)).unix) {
    expect(path).toMatch(/^\//);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  }
});

const credentials: readonly (readonly [string, (port: number, one: Attempt) => Attempt])[] = [
  ['no credential', (_port, one) => one],
  ['another API key', (_port, one) => withKey(one, `${info.apiKey.slice(0, -1)}${info.apiKey.endsWith('a') ? 'b' : 'a'}`)],
  ['a password', (_port, one) => ({ ...one, headers: { ...one.headers, authorization: `Basic ${btoa('admin:admin')}` } })],
  ['a made-up AWS key', (port, one) => signed(port, one, 'dynamodb', { accessKeyId: 'LOCAL', secretAccessKey: 'local' })],
  [
    'a made-up AWS key for the bucket',
    (port, one) => signed(port, one, 's3', { accessKeyId: 'LOCAL', secretAccessKey: 'local' }),
  ],
  ['the owner’s AWS key id without its secret', (port, one) => signed(port, one, 'dynamodb', { secretAccessKey: 'local' })],
];

test.each(credentials)('each port refuses %s', async (_what, by) => {
  for (const { port } of ports())
    for (const one of attempts) {
      const { status, cors } = await ask(port, by(port, one));
      expect([port, one.method, one.path, status >= 400 && status < 500, cors]).toEqual([port, one.method, one.path, true, []]);
    }
});

test.each(['evil.example', 'evil.example:4700', '127.0.0.1.evil.example', '0.0.0.0', '[::1]', '10.0.0.1'])(
  'each port refuses the host "%s", with the right credential too',
  async (host) => {
    for (const { port } of ports())
      for (const { status } of await welcome(port, {}, host)) expect([port, status]).toEqual([port, 403]);
  },
);

test.each([
  { origin: 'http://evil.example' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'http://localhost:1' },
  { origin: 'http://127.0.0.1:1' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
])('each port refuses a page by %o, with the right credential too', async (headers) => {
  for (const { port } of ports()) {
    for (const { status, cors } of await welcome(port, headers)) expect([port, status, cors]).toEqual([port, 403, []]);
    expect([port, (await ask(port, attempt('GET', '/live', { ...upgrade, ...headers }))).status]).toEqual([port, 403]);
  }
});

test('the API responds to its own pages, under both host names', async () => {
  const port = Number(new URL(local.url).port);
  for (const name of ['127.0.0.1', 'localhost']) {
    const [runs] = await welcome(port, { origin: `http://${name}:${port}` }, `${name}:${port}`);
    expect(runs?.status).toBe(200);
  }
});

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...filesIn(path)] : entry.isFile() ? [path] : [];
  });

/** Linked, or of this start when a source changed since the links were made. Its files keep the modes of the sources. */
const assembly = join(directory, 'cloud-assembly');

test('no file in the state folder is readable for others, and no process argument and no template contains a secret', () => {
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  const open = filesIn(directory).filter((path) => (statSync(path).mode & 0o077) !== 0);
  // Copied by this test before the start.
  const copied = `${assembly}.sha256`;
  expect(open.filter((path) => path !== copied && path !== assembly && !path.startsWith(`${assembly}/`))).toEqual([]);
  const secrets = [info.apiKey, info.webhookSecret, info.tables.secretAccessKey, info.tables.accessKeyId];
  for (const pid of processTree(local.pid)) for (const secret of secrets) expect(argumentsOf(pid)).not.toContain(secret);
  const synthesized = filesIn(`${assembly}/`).filter((path) => statSync(path).isFile());
  expect(synthesized.some((path) => path.endsWith('.template.json'))).toBe(true);
  const texts = synthesized.map((path) => [path, readFileSync(path, 'utf8')] as const);
  expect(texts.filter(([, text]) => secrets.some((secret) => text.includes(secret))).map(([path]) => path)).toEqual([]);
});

test.each([
  'http://127.0.0.1:3000',
  'http://localhost:3000',
  'http://169.254.169.254',
  'https://10.0.0.1',
  'http://93.184.216.34',
])('no application can register %s for its messages, and it learns what allows it', async (baseUrl) => {
  const { status, body } = await local.call('POST', '/v1/world/apps', { baseUrl });
  const wayOut = baseUrl.includes('93.') ? /must begin with https/ : /privateDestinations.*stepwell start --allow-localhost/;
  const errors = [{ pointer: '/baseUrl', message: expect.stringMatching(wayOut) }];
  expect([status, body]).toMatchObject([400, { code: 'invalid_request', errors }]);
});
