/** The page of the console and its assets, as a browser asks for them. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleFiles, readConsoleFiles } from '../../functions/console/page.ts';
import { respondWithConsole } from '../../functions/console/respond.ts';
import { buildConsole } from '../../scripts/build-console.ts';

let folder: string;
let files: ConsoleFiles;
let names: readonly string[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'console-'));
  await buildConsole(join(folder, 'console'));
  writeFileSync(join(folder, 'console', 'assets', 'plain-0123.txt'), 'not compressed');
  writeFileSync(join(folder, 'secret.txt'), 'secret');
  files = readConsoleFiles(join(folder, 'console'));
  names = readdirSync(join(folder, 'console', 'assets')).filter((name) => /\.(js|css)$/.test(name));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As the gateway gives a request to the function. */
const ask = (path: string, headers: Readonly<Record<string, string>> = {}, httpMethod = 'GET') => {
  const proxy = path.replace(/^\/console\/?/, '').replace(/\/$/, '');
  return respondWithConsole(files, {
    httpMethod,
    path,
    pathParameters: proxy === '' ? null : { proxy },
    headers: { ...headers },
  });
};
const script = () => `/console/assets/${names.find((name) => name.endsWith('.js'))}`;

describe('the page', () => {
  test.each([
    ['/console', './'],
    ['/console/', '../'],
    ['/console/runs', '../'],
    ['/console/runs/', '../../'],
    ['/console/runs/wrun_01', '../../'],
    ['/console/runs/a/b/c', '../../../../'],
    ['/console/index.html', '../'],
  ])('%s has the base %s, which leads to the root of the stage', (path, base) => {
    const { statusCode, body } = ask(path);
    expect(statusCode).toBe(200);
    expect(body.toString()).toContain(`<base href="${base}" />`);
    expect(new URL(base, `https://api.example.com/prod${path}`).pathname).toBe('/prod/');
  });

  test('a policy allows files of the API and one nonce; no cache keeps the page', () => {
    const [one, other] = [ask('/console'), ask('/console')];
    const nonce = /'nonce-([A-Za-z0-9_-]{22})'/.exec(one.headers['content-security-policy'] ?? '')?.[1] ?? '-';
    expect(one.body.toString()).toContain(nonce);
    expect(other.headers['content-security-policy']).not.toContain(nonce);
    expect(one.headers).toEqual({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': [
        "default-src 'none'",
        "script-src 'self'",
        `style-src 'self' 'nonce-${nonce}'`,
        "connect-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ].join('; '),
      'strict-transport-security': 'max-age=63072000; includeSubDomains',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
  });

  test.each([
    '/console/"><script>alert(1)</script>',
    '/console/{{nonce}}',
    '/console/$&$`',
    '/console/%22%3E%3Cscript%3E',
    '/console/a%0d%0aset-cookie:%20x=y',
  ])('%s: no text of the request reaches the page or a header', (path) => {
    const { body, headers } = ask(path, { 'Accept-Language': '"><script>', Host: 'evil.example' });
    const segments = path.split('/').length - 2;
    expect(body.toString()).toContain(`<base href="${'../'.repeat(segments)}" />`);
    expect(body.toString()).not.toMatch(/alert|\{\{|%22|evil|set-cookie/i);
    expect(JSON.stringify(headers)).not.toMatch(/evil|script>|x=y/i);
  });
});

describe('an asset', () => {
  test('is compressed as the browser accepts it, and kept for ever', () => {
    const plain = readFileSync(join(folder, script()));
    const [br, gzip, none] = ['gzip, deflate, br', 'gzip', ''].map((coding) => ask(script(), { 'Accept-Encoding': coding }));
    expect(br?.headers).toMatchObject({
      'content-encoding': 'br',
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
    });
    expect(brotliDecompressSync(br?.body ?? '')).toEqual(plain);
    expect(gzip?.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip?.body ?? '')).toEqual(plain);
    expect(none?.headers).not.toHaveProperty('content-encoding');
    expect(none?.body).toEqual(plain);
    expect(new Set([br, gzip, none].map((answer) => answer?.headers['etag'])).size).toBe(3);
  });

  test.each([
    ['br;q=0, gzip', 'gzip'],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['identity', undefined],
    ['BR', 'br'],
  ])('Accept-Encoding: %s gets %s', (header, coding) => {
    expect(ask(script(), { 'accept-encoding': header }).headers['content-encoding']).toBe(coding);
  });

  test('without a compressed form is sent as it is', () => {
    const { statusCode, headers, body } = ask('/console/assets/plain-0123.txt', { 'Accept-Encoding': 'br, gzip' });
    expect([statusCode, headers['content-encoding'], body.toString()]).toEqual([200, undefined, 'not compressed']);
  });

  test('that the browser has already is not sent again', () => {
    const headers = { 'Accept-Encoding': 'br' };
    const etag = ask(script(), headers).headers['etag'] ?? '';
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const { statusCode, body } = ask(script(), { ...headers, 'If-None-Match': known });
      expect([statusCode, body.length]).toEqual([304, 0]);
    }
    expect(ask(script(), { 'If-None-Match': etag }).statusCode).toBe(200);
  });

  test.each([
    'nothing.js',
    '',
    '.',
    '..',
    '../index.html',
    '../../secret.txt',
    '..%2f..%2fsecret.txt',
    '....//secret.txt',
    '..\\..\\secret.txt',
    '/etc/passwd',
    'plain-0123.txt\0',
    '__proto__',
    'constructor',
  ])('%j does not exist', (name) => {
    const { statusCode, body } = respondWithConsole(files, {
      httpMethod: 'GET',
      path: `/console/assets/${name}`,
      pathParameters: { proxy: `assets/${name}` },
      headers: {},
    });
    expect([statusCode, body.toString().includes('secret')]).toEqual([404, false]);
  });

  test('a compressed form has no address of its own', () => {
    expect(ask(`${script()}.br`).statusCode).toBe(404);
  });
});

test('HEAD has the headers of GET without a body, and other methods are refused', () => {
  for (const path of ['/console', script()]) {
    const head = ask(path, {}, 'HEAD');
    expect([head.statusCode, head.body.length]).toEqual([200, 0]);
    expect(Object.keys(head.headers)).toEqual(Object.keys(ask(path).headers));
  }
  for (const method of ['POST', 'OPTIONS', 'DELETE'])
    expect(ask('/console', {}, method)).toMatchObject({ statusCode: 405, headers: { allow: 'GET, HEAD' } });
});

test('no assets of earlier builds stay', async () => {
  writeFileSync(join(folder, 'console', 'assets', 'main-old.js'), '');
  await buildConsole(join(folder, 'console'));
  expect(readdirSync(join(folder, 'console', 'assets'))).not.toContain('main-old.js');
});
