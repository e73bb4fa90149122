/** CORS for a browser page: preflight, responses, errors of functions and of the gateway, a stream, a socket. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

const page = 'https://app.example.com';
const other = 'https://evil.example';
let here: InProcessCloud;
beforeAll(async () => {
  here = await startInProcessCloud({ 'stepwell:corsOrigins': [page] });
});
afterAll(() => here.stop());

const ask = async (path: string, origin: string | undefined, init: RequestInit = {}, key = here.apiKey) => {
  const headers = new Headers({ authorization: `Bearer ${key}`, ...(origin === undefined ? {} : { origin }) });
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
  const answer = await fetch(`${here.url}${path}`, { ...init, headers });
  await answer.body?.cancel();
  return { status: answer.status, allowed: answer.headers.get('access-control-allow-origin'), vary: answer.headers.get('vary') };
};

test('a preflight of the page succeeds, and the request after it', async () => {
  const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };
  expect(await ask('/v1/runs', page, { method: 'OPTIONS', headers: asked }, '')).toEqual({
    status: 204,
    allowed: page,
    vary: 'Origin',
  });
  expect(await ask('/v1/runs', page)).toEqual({ status: 200, allowed: page, vary: 'Origin' });
});

test('a program without an origin is unaffected, and another page is refused', async () => {
  expect(await ask('/v1/runs', undefined)).toEqual({ status: 200, allowed: null, vary: 'Origin' });
  // Here its request does not reach the function; on AWS it does, and the browser hides the response from the page.
  expect(await ask('/v1/runs', other)).toMatchObject({ status: 403, allowed: null });
});

test('errors of functions and of the gateway can be read', async () => {
  expect(await ask('/v1/runs', page, {}, 'sw_none')).toMatchObject({ status: 401, allowed: page });
  expect(await ask('/nothing', page)).toMatchObject({ status: 404, allowed: page });
  const body = 'x'.repeat(10_485_761);
  expect(await ask('/v1/runs', page, { method: 'POST', body })).toMatchObject({ status: 413, allowed: page });
});

test('the page can read a stream', async () => {
  const runId = 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV';
  const accept = { accept: 'text/event-stream' };
  expect(await ask(`/v1/runs/${runId}/events`, page, { headers: accept })).toMatchObject({ status: 404, allowed: page });
});

test('a socket opens for the page and for a program, not for another page', async () => {
  const { socketUrl } = here.cloud;
  const opens = (origin: string | undefined): Promise<boolean> =>
    new Promise((resolve) => {
      const headers = { authorization: `Bearer ${here.apiKey}`, ...(origin === undefined ? {} : { origin }) };
      // Node's WebSocket accepts headers, unlike the standard.
      const socket: WebSocket = Reflect.construct(WebSocket, [socketUrl, { headers }]);
      socket.addEventListener('open', () => {
        socket.close();
        resolve(true);
      });
      socket.addEventListener('error', () => resolve(false));
    });
  expect([await opens(page), await opens(undefined), await opens(other)]).toEqual([true, true, false]);
});
