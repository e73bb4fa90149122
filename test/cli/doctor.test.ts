/** `doctor` prints a line for each check, and exits with the code of the worst result. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { checkNode } from '../../lib/cli/actions/doctor.ts';
import { days } from '../../lib/engine/time.ts';
import { after } from '../../lib/engine/time.ts';
import type { KeyScope } from '../../lib/ports/control.ts';
import { fetchOf } from '../client/in-process.ts';
import { createCliEnvironment, dataIn, createFolder, createTestCli, url } from './test-cli.ts';

const shape = z.strictObject({
  checks: z.array(z.strictObject({ name: z.string(), result: z.enum(['ok', 'warn', 'fail']), message: z.string() })),
});
/** A free port, so that the port check passes in unrelated tests. */
const freePort = { STEPWELL_PORT: '0' };

interface Given {
  readonly skewMs?: number;
  readonly scopes?: readonly KeyScope[];
  readonly expiresInDays?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** replaces the service's response if it returns one */
  readonly override?: (path: string) => Response | undefined;
}

async function runDoctor({ skewMs = 0, scopes = ['admin'], expiresInDays, env = {}, override = () => undefined }: Given = {}) {
  const { api } = createCliEnvironment();
  const { clock } = api.world;
  const expiry = expiresInDays === undefined ? {} : { expiresAt: after(clock.now(), days(expiresInDays)) };
  const key = await api.key(scopes, expiry);
  const { type, sent } = createTestCli({
    env: { HOME: createFolder(), STEPWELL_URL: url, STEPWELL_API_KEY: key, ...freePort, ...env },
    now: () => clock.now() + skewMs,
    fetch: async (target, init = {}) => {
      const answer = override(new URL(target).pathname) ?? (await fetchOf(api)(target, init));
      const headers = new Headers(answer.headers);
      headers.set('date', new Date(clock.now()).toUTCString());
      return new Response(await answer.text(), { status: answer.status, headers });
    },
  });
  const printed = await type('doctor', '--json');
  const { checks } = dataIn(printed, shape);
  return { exitCode: printed.exitCode, sent, of: (name: string) => checks.find((check) => check.name === name) };
}

test('all checks pass: one line for each, and exit code 0', async () => {
  const { api, cliWithScopes } = createCliEnvironment();
  const { type } = await cliWithScopes(['admin'], {
    env: freePort,
    fetch: async (target, init = {}) => {
      const answer = await fetchOf(api)(target, init);
      answer.headers.set('date', new Date(api.world.clock.now()).toUTCString());
      return answer;
    },
  });
  expect(api).toBeDefined();
  const { exitCode, out } = await type('doctor');
  expect(out).not.toMatch(/warn|fail/);
  for (const name of ['node', 'embedded cloud', 'port', 'connection', 'reachable', 'health', 'clock', 'key', 'version'])
    expect(out).toMatch(new RegExp(`^✓ ok +${name}: `, 'm'));
  expect(exitCode).toBe(0);
});

describe('the clock', () => {
  test.each([
    [95_000, 'this machine is 1 min 35 s ahead of the service: set its clock'],
    [-7_200_000, 'this machine is 2 h behind the service: set its clock'],
  ])('that is off by %d ms is a warning and exits with 2', async (skewMs, message) => {
    const { exitCode, of } = await runDoctor({ skewMs });
    expect(of('clock')).toEqual({ name: 'clock', result: 'warn', message });
    expect(exitCode).toBe(2);
  });
  test('that is off by seconds passes', async () => {
    expect((await runDoctor({ skewMs: 20_000 })).of('clock')?.result).toBe('ok');
  });
});

describe('the key', () => {
  test('without admin: its read scopes are printed', async () => {
    const { exitCode, of } = await runDoctor({ scopes: ['runs:read', 'trigger:write'] });
    expect(of('key')).toMatchObject({ result: 'ok', message: expect.stringContaining('it has runs:read; ') });
    expect(exitCode).toBe(0);
    const sees = await runDoctor({ scopes: ['runs:read', 'payloads:read'] });
    expect(sees.of('key')).toMatchObject({ message: expect.stringContaining('it has runs:read, payloads:read; ') });
  });
  test('that is unknown fails and exits with 1', async () => {
    const { exitCode, of } = await runDoctor({ env: { STEPWELL_API_KEY: 'sw_test_12345678_unknown' } });
    expect(of('key')).toMatchObject({ result: 'fail' });
    expect(exitCode).toBe(1);
  });
  test('that is missing fails, and no request is sent with it', async () => {
    const { of, sent } = await runDoctor({ env: { STEPWELL_API_KEY: '' } });
    expect(of('key')).toMatchObject({ result: 'fail', message: 'no key is configured: set STEPWELL_API_KEY' });
    expect(sent.filter(({ headers }) => headers.has('authorization'))).toEqual([]);
  });
  test('that is rate limited is a warning', async () => {
    const override = (path: string) => (path === '/v1/keys' ? Response.json({}, { status: 429 }) : undefined);
    expect((await runDoctor({ override })).of('key')).toMatchObject({ result: 'warn' });
  });
  test('is not sent before the service is identified', async () => {
    const { sent, of } = await runDoctor({ override: (path) => (path === '/v1/health' ? new Response('hello') : undefined) });
    expect(of('health')).toMatchObject({ result: 'fail' });
    expect(sent.map(({ headers }) => headers.has('authorization'))).toEqual([false]);
  });
});

describe('the service', () => {
  test('that does not respond fails with the reason', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
    const { type } = createTestCli({
      env: { HOME: createFolder(), STEPWELL_URL: url, ...freePort },
      fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
    });
    const { exitCode, out } = await type('doctor');
    expect(exitCode).toBe(1);
    expect(out).toContain('✗ fail  reachable: no response: connect ECONNREFUSED 127.0.0.1:1');
  });
  test('of an older version is detected by its missing routes', async () => {
    const override = (path: string) => (path === '/v1/openapi.json' ? Response.json({ paths: {} }) : undefined);
    const { exitCode, of } = await runDoctor({ override });
    expect(of('version')?.message).toMatch(/^the service is an older version: it lacks getHealth, /);
    expect(exitCode).toBe(2);
  });
});

describe('this machine', () => {
  test('requires Node 24', () => {
    expect([checkNode('22.9.0').result, checkNode('24.0.0').result]).toEqual(['fail', 'ok']);
  });
  test('is checked even if no installation is configured', async () => {
    const { exitCode, out } = await createTestCli({ env: { HOME: createFolder(), ...freePort } }).type('doctor');
    expect(exitCode).toBe(1);
    expect(out).toContain('✓ ok    node: ');
    expect(out).toContain('✗ fail  connection: No installation is configured');
  });
  test('a port in use is a warning', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = z.object({ port: z.int() }).parse(server.address());
    const { of, exitCode } = await runDoctor({ env: { STEPWELL_PORT: String(port) } });
    server.close();
    expect(of('port')).toMatchObject({
      result: 'warn',
      message: `${port} is in use: the embedded cloud uses the next free port`,
    });
    expect(exitCode).toBe(2);
  });
  test.each([
    ['that other users can read', 0o755, undefined, 'warn', 'chmod 700'],
    ['that is not running', 0o700, undefined, 'ok', 'it is not running'],
    ['whose process does not exist', 0o700, 2_147_483_646, 'warn', 'which does not exist'],
    ['that is running', 0o700, process.pid, 'ok', 'running at http://127.0.0.1:4700'],
  ])('has a state folder %s', async (_what, mode, pid, result, message) => {
    const folder = join(createFolder(), 'state');
    mkdirSync(folder, { mode });
    const local = { url: 'http://127.0.0.1:4700', apiKey: 'sw_local_x', pid };
    if (pid !== undefined) writeFileSync(join(folder, 'local.json'), JSON.stringify(local), { mode: 0o600 });
    const check = (await runDoctor({ env: { STEPWELL_DIR: folder } })).of('embedded cloud');
    expect(check).toMatchObject({ result, message: expect.stringContaining(message) });
  });
});
