/** Which requests a server of the embedded cloud accepts, and that a refused one gets an error in the product's format. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { type AllowedOrigins, checkCaller } from '../../lib/local/http/caller-guard.ts';
import { guardedServer } from '../../lib/local/http/guarded-server.ts';
import { apiLimits } from '../../lib/local/limits.ts';
import { listen } from '../../lib/local/http/listen.ts';

const server = await listen(
  guardedServer((_request, response) => void response.end('reached'), { origins: () => ({ ports: [], configuredOrigins: [] }) }),
  0,
);
afterAll(() => server.close(0));

/** Sends the raw bytes, and reads until the server closes. */
async function sent(bytes: string): Promise<{ readonly status: number; readonly body: string }> {
  const socket = connect(server.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  let broken: Error | undefined;
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
  socket.on('error', (error) => void (broken = error));
  socket.end(bytes, 'latin1');
  await once(socket, 'close');
  expect(broken).toBeUndefined();
  const [head = '', body = ''] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), body };
}

const get = (path: string, ...headers: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${server.port}`, 'Connection: close', ...headers, '', ''].join('\r\n');

const long = (bytes: number): string => 'a'.repeat(bytes);
const megabytes = 1024 * 1024;

describe('a request that no route receives gets an error code, and its connection is not reset', () => {
  test.each([
    ['a URL of 10 KB', get(`/${long(apiLimits.headBytes)}`), 414, 'invalid_request'],
    ['a URL of 70 KB', get(`/?q=${long(70_000)}`), 414, 'invalid_request'],
    ['a URL of 900 KB', get(`/?q=${long(900_000)}`), 414, 'invalid_request'],
    ['a head of 8 MB', get(`/?q=${long(8 * megabytes)}`), 431, 'invalid_request'],
    ['a header of 11 KB', get('/', `X-A: ${long(11_000)}`), 431, 'invalid_request'],
    ['headers of 70 KB', get('/', ...Array.from({ length: 70 }, (_, at) => `X-${at}: ${long(1_000)}`)), 431, 'invalid_request'],
    ['a header of 8 MB', get('/', `X-A: ${long(8 * megabytes)}`), 431, 'invalid_request'],
    ['no HTTP', 'hello\r\n\r\n', 400, 'invalid_request'],
    ['no HTTP, 8 MB of it', long(8 * megabytes), 400, 'invalid_request'],
    ['two lengths', get('/', 'Content-Length: 1', 'Content-Length: 2'), 400, 'invalid_request'],
    ['a length beside chunks', get('/', 'Content-Length: 1', 'Transfer-Encoding: chunked'), 400, 'invalid_request'],
    ['another expectation', get('/', 'Expect: 200-ok'), 417, 'invalid_request'],
    ['another host', get('/').replace(/Host: .*/, 'Host: evil.example'), 403, 'request_blocked'],
    ['no host', get('/').replace(/Host: .*\r\n/, ''), 403, 'request_blocked'],
    ['another origin', get('/', 'Origin: https://evil.example'), 403, 'request_blocked'],
  ])('%s', async (_what, bytes, status, code) => {
    const answer = await sent(bytes);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body)).toEqual({
      code,
      message: expect.any(String),
      correlationId: expect.stringMatching(/^[\w-]{36}$/),
    });
  });

  test('a head of the maximum length is accepted', async () => {
    const rest = get('/')
      .split('\r\n')
      .slice(1)
      .map((line) => line.replace(/^[^:]*: ?/, ''))
      .join('').length;
    const path = `/${long(apiLimits.headBytes - rest - 'GET / HTTP/1.1'.length)}`;
    expect(await sent(get(path))).toEqual({ status: 200, body: 'reached' });
    expect((await sent(get(`${path}a`))).status).toBe(431);
  });
});

describe('the caller guard', () => {
  const own: AllowedOrigins = { ports: [4_700], configuredOrigins: ['http://localhost:5173'] };
  const host = '127.0.0.1:4701';

  test.each([
    ['a program', { host }],
    ['a program by the other name', { host: 'localhost:4701' }],
    ['a page of this port', { host, origin: 'http://127.0.0.1:4701' }],
    ['a page of this port by the other name', { host, origin: 'http://localhost:4701' }],
    ['a page behind a forwarded port', { host: 'localhost:9000', origin: 'http://localhost:9000' }],
    ['a page of the API', { host, origin: 'http://localhost:4700' }],
    ['a page that the owner allows', { host, origin: 'http://localhost:5173' }],
    ['a read by a page of the same origin', { host, 'sec-fetch-site': 'same-origin' }],
    ['a person who types the address', { host, 'sec-fetch-site': 'none' }],
    ['a person who follows a link', { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
  ])('%s may', (_who, headers) => expect(checkCaller(headers, own)).toBeUndefined());

  test.each([
    ['a page of another site', { host, origin: 'https://evil.example' }, 'origin'],
    ['a page of another site under our port', { host, origin: 'http://evil.example:4701' }, 'origin'],
    ['a page of another port', { host, origin: 'http://localhost:3000' }, 'origin'],
    ['a page over another protocol', { host, origin: 'https://localhost:4701' }, 'origin'],
    ['a page without an origin of its own', { host, origin: 'null' }, 'origin'],
    ['an origin with a user name', { host, origin: 'http://localhost:4701@evil.example' }, 'origin'],
    ['an origin with a path', { host, origin: 'http://localhost:4701/' }, 'origin'],
    ['an empty origin', { host, origin: '' }, 'origin'],
    ['a name that starts like a local one', { host, origin: 'http://localhost.evil.example:4701' }, 'origin'],
    ['an image in a page of another site', { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 'origin'],
    ['an image in a page of another port', { host, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }, 'origin'],
    ['a name that resolves to this machine (DNS rebinding)', { host: 'evil.example:4701' }, 'host'],
    ['such a name, with its origin', { host: 'evil.example', origin: 'http://evil.example' }, 'host'],
    ['no name', {}, 'host'],
  ] as const)('%s is refused', (_who, headers, fault) => expect(checkCaller(headers, own)).toBe(fault));

  test('a port without pages refuses every page', () => {
    expect(checkCaller({ host }, undefined)).toBeUndefined();
    expect(checkCaller({ host, origin: 'http://127.0.0.1:4701' }, undefined)).toBe('origin');
  });
});
