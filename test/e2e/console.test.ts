/** The embedded cloud serves the console, and a link signs a browser in: the page, an asset, a session, a stream by its cookie. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

let cloud: InProcessCloud;
beforeAll(async () => {
  cloud = await startInProcessCloud();
});
afterAll(() => cloud.stop());

const linkShape = z.object({ link: z.string() });

test('the page leads to its assets, which come compressed', async () => {
  for (const path of ['/console', '/console/', '/console/runs/wrun_01']) {
    const page = await fetch(`${cloud.url}${path}`);
    expect([page.status, page.headers.get('content-type'), page.headers.get('cache-control')]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-store',
    ]);
    const html = await page.text();
    const base = /<base href="([./]+)"/.exec(html)?.[1] ?? '';
    const [, asset = ''] = /(console\/assets\/[^"]+\.js)/.exec(html) ?? [];
    const script = await fetch(new URL(asset, new URL(base, `${cloud.url}${path}`)), { headers: { 'accept-encoding': 'br' } });
    expect([script.status, script.headers.get('content-encoding')]).toEqual([200, 'br']);
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    // fetch has decoded it.
    expect(await script.text()).toContain('location');
  }
  const head = await fetch(`${cloud.url}/console/`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect((await fetch(`${cloud.url}/console/assets/nothing.js`)).status).toBe(404);
  expect((await fetch(`${cloud.url}/console`, { method: 'POST' })).status).toBe(405);
});

test('a link signs in once; the cookie reads and streams until the browser signs out', async () => {
  const { link } = linkShape.parse((await cloud.call('POST', '/v1/sessions/links')).body);
  const page = { origin: cloud.url, 'sec-fetch-site': 'same-origin' };
  const exchange = () =>
    fetch(`${cloud.url}/v1/sessions/exchange`, { method: 'POST', headers: page, body: JSON.stringify({ link }) });
  const answer = await exchange();
  expect(answer.status).toBe(201);
  const set = answer.headers.get('set-cookie') ?? '';
  expect(set).toMatch(
    new RegExp(`^stepwell_${new URL(cloud.url).port}=ss_[^;]{43}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$`),
  );
  const [cookie = ''] = set.split(';');
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
    fetch(`${cloud.url}${path}`, { method, headers: { ...page, cookie, ...headers } });

  expect((await exchange()).status).toBe(401);
  expect(await (await ask('/v1/session')).json()).toEqual(await answer.json());
  expect((await ask('/v1/runs')).status).toBe(200);
  expect((await ask('/v1/keys')).status).toBe(403);
  expect((await fetch(`${cloud.url}/v1/runs`, { headers: { cookie } })).status).toBe(403);
  // The events function has no run of that id; it has authenticated the cookie.
  const stream = await ask('/v1/runs/wrun_00000000000000000000000000/events', { accept: 'text/event-stream' });
  expect(stream.status).toBe(404);
  expect(await (await ask('/v1/session', {}, 'DELETE')).json()).toEqual({ signedOut: true });
  expect((await ask('/v1/runs')).status).toBe(401);
});
