/** A response whose body does not arrive whole is no answer: the page's requests reject, and no page reads a missing body. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { api } from '../../lib/console/api.ts';

let server: Server;
let answer: (response: ServerResponse) => void;
/** called when the page has the status, and not yet the body */
let onStatus: () => void = () => {};
beforeAll(async () => {
  server = createServer((_request, response) => answer(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the test server has no port');
  const real = globalThis.fetch;
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    const response = await real(`http://127.0.0.1:${address.port}/${path}`, init);
    onStatus();
    return response;
  });
});
afterEach(() => {
  onStatus = () => {};
  server.closeAllConnections();
});
afterAll(async () => {
  vi.unstubAllGlobals();
  server.close();
  await once(server, 'close');
});

const begin = (status: number, text: string) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write(text);
};

test('a connection that breaks in the body is a service that did not respond', async () => {
  answer = (response) => {
    begin(200, '{"findings":[')(response);
    onStatus = () => void response.destroy();
  };
  await expect(api.validate({}, new AbortController().signal)).rejects.toMatchObject({
    name: 'ApiError',
    status: 0,
    code: 'unreachable',
  });
});

test('a request that is aborted while its body arrives rejects with the abort', async () => {
  const aborter = new AbortController();
  answer = (response) => {
    begin(200, '{"findings":[')(response);
    onStatus = () => aborter.abort();
  };
  await expect(api.validate({}, aborter.signal)).rejects.toMatchObject({ name: 'AbortError' });
});

test('a body that is not JSON is a service that did not respond, as a proxy’s page is', async () => {
  answer = (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
  await expect(api.validate({}, new AbortController().signal)).rejects.toMatchObject({ code: 'unreachable' });
});

test('an error whose body is cut keeps its status', async () => {
  answer = (response) => {
    begin(503, '{"code":')(response);
    onStatus = () => void response.destroy();
  };
  await expect(api.validate({}, new AbortController().signal)).rejects.toMatchObject({ status: 503, code: 'http_503' });
});

test('a response without a body resolves', async () => {
  answer = (response) => void response.writeHead(204).end();
  await expect(api.signOut()).resolves.toBeUndefined();
});
