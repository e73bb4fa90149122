/** Resolution of the installation and its key, key file warnings, and profiles. */
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { dataIn, errorIn, expectExit, createFolder, createTestCli } from './test-cli.ts';

/** Answers with empty lists, and with a link. */
const noInstallation = async (to: string | URL = ''): Promise<Response> =>
  String(to).endsWith('/v1/sessions/links')
    ? Response.json({ link: 'sl_x', expiresAt: '2026-01-01T00:01:00.000Z' }, { status: 201 })
    : Response.json({ data: [], cursor: null, hasMore: false });
let home: string;
let cwd: string;
beforeEach(() => {
  home = createFolder();
  cwd = createFolder();
});

const cliIn = (env: Readonly<Record<string, string>> = {}) =>
  createTestCli({ env: { HOME: home, ...env }, cwd, fetch: noInstallation });
const opened = z.strictObject({ url: z.string(), source: z.string(), console: z.string() });
const write = (path: string, text: string, mode = 0o600): string => {
  writeFileSync(path, text, { mode });
  return path;
};
const embedded = (mode?: number): void => {
  mkdirSync(join(cwd, '.stepwell'), { mode: 0o700 });
  write(
    join(cwd, '.stepwell', 'local.json'),
    JSON.stringify({ url: 'http://127.0.0.1:4700', apiKey: 'sw_local_own', pid: 1 }),
    mode,
  );
};
/** Returns the address and the key of a request. */
const requestTarget = async (env: Readonly<Record<string, string>>, ...args: readonly string[]) => {
  let target = '';
  const { type, sent } = createTestCli({
    env: { HOME: home, ...env },
    cwd,
    fetch: (to) => {
      target = new URL(to).origin;
      return noInstallation();
    },
  });
  const printed = await type(...args, 'runs', 'list');
  return { target, key: sent[0]?.headers.get('authorization') ?? null, err: printed.err };
};

describe('the order of sources', () => {
  beforeEach(async () => {
    embedded();
    write(join(cwd, 'prod.key'), 'sw_prod_file\n');
    expectExit(
      await cliIn().type('profiles', 'add', 'prod', '--url', 'https://prod.example.com/', '--api-key-file', 'prod.key'),
      0,
    );
    expectExit(
      await cliIn().type('profiles', 'add', 'test', '--url', 'https://test.example.com', '--api-key-env', 'TEST_KEY'),
      0,
    );
  });
  const all = { STEPWELL_URL: 'https://env.example.com', STEPWELL_API_KEY: 'sw_env_key', STEPWELL_PROFILE: 'prod' };

  test.each([
    ['--url', all, ['--url', 'https://flag.example.com'], 'https://flag.example.com', 'sw_env_key'],
    ['--profile, with its own key', all, ['--profile', 'prod'], 'https://prod.example.com', 'sw_prod_file'],
    [
      '--profile, with a key from the environment',
      { ...all, TEST_KEY: 'sw_t' },
      ['--profile', 'test'],
      'https://test.example.com',
      'sw_t',
    ],
    ['STEPWELL_URL', all, [], 'https://env.example.com', 'sw_env_key'],
    ['STEPWELL_PROFILE', { STEPWELL_PROFILE: 'prod', STEPWELL_API_KEY: 'x' }, [], 'https://prod.example.com', 'sw_prod_file'],
    ['the embedded cloud of the folder, with its key', { STEPWELL_API_KEY: 'x' }, [], 'http://127.0.0.1:4700', 'sw_local_own'],
  ])('%s', async (_what, env, args, target, key) => {
    expect(await requestTarget(env, ...args)).toEqual({ target, key: `Bearer ${key}`, err: '' });
  });
  test('the current profile precedes the embedded cloud', async () => {
    expectExit(await cliIn().type('profiles', 'use', 'prod'), 0);
    expect((await requestTarget({})).target).toBe('https://prod.example.com');
  });
  test('in a folder below, the embedded cloud of the nearest project is used', async () => {
    const below = join(cwd, 'workflows', 'parts');
    mkdirSync(below, { recursive: true });
    const openBelow = async () =>
      createTestCli({ env: { HOME: home }, cwd: below, fetch: noInstallation }).type('--json', 'open');
    expect(dataIn(await openBelow(), opened)).toMatchObject({ url: 'http://127.0.0.1:4700' });
    // Another project begins in this folder, and its cloud does not run.
    write(join(cwd, 'workflows', 'stepwell.config.mjs'), 'export default {};');
    expect(errorIn(await openBelow()).code).toBe('no_connection');
  });
  test('the embedded cloud of the home directory is not one of the projects below it', async () => {
    const below = join(cwd, 'project');
    mkdirSync(below);
    const from = (folder: string) =>
      createTestCli({ env: { HOME: cwd }, cwd: folder, fetch: noInstallation }).type('--json', 'open');
    expect(errorIn(await from(below)).code).toBe('no_connection');
    expectExit(await from(cwd), 0);
  });
  test('STEPWELL_DIR locates the embedded cloud', async () => {
    expect(errorIn(await cliIn({ STEPWELL_DIR: 'elsewhere' }).type('--json', 'runs', 'list')).code).toBe('no_connection');
  });
  test('a profile whose key is missing is refused, and nothing is sent', async () => {
    const { type, sent } = cliIn({ STEPWELL_API_KEY: 'sw_other' });
    const answer = await type('--json', '--profile', 'test', 'runs', 'list');
    expect([answer.exitCode, errorIn(answer).code, sent.length]).toEqual([3, 'no_key', 0]);
  });
  test('open prints the address', async () => {
    const answer = await cliIn().type('--json', 'open');
    expect(dataIn(answer, opened)).toMatchObject({ url: 'http://127.0.0.1:4700', source: 'the embedded cloud of this folder' });
  });
});

describe('open', () => {
  test('opens the console with a link in an interactive terminal, and sends nothing with --no-browser', async () => {
    const env = { STEPWELL_URL: 'https://api.example.com', STEPWELL_API_KEY: 'sw_key' };
    const interactive = createTestCli({ env, isInteractive: true, fetch: noInstallation });
    const page = 'https://api.example.com/console/#link=sl_x';
    expect((await interactive.type('open')).out).toBe(`${page}\n`);
    expect(interactive.openedUrls).toEqual([page]);
    const other = createTestCli({ env, fetch: noInstallation });
    await other.type('open');
    const { length } = interactive.sent;
    expect((await interactive.type('open', '--no-browser')).out).toBe('https://api.example.com\n');
    expect(interactive.sent).toHaveLength(length);
    expect([other.openedUrls.length, interactive.openedUrls.length]).toEqual([0, 1]);
  });
});

describe('the address of the start API', () => {
  const url = 'https://env.example.com';
  /** The addresses that a start and a list are sent to. */
  const targets = async (env: Readonly<Record<string, string>>, ...args: readonly string[]) => {
    const seen: string[] = [];
    const { type } = createTestCli({
      env: { HOME: home, STEPWELL_API_KEY: 'sw_key', ...env },
      cwd,
      fetch: async (to) => {
        seen.push(new URL(to).href.replace(/\/v1\/.*/, ''));
        return Response.json({ code: 'internal', message: 'x', correlationId: 'c' }, { status: 400 });
      },
    });
    await type(...args, 'runs', 'start', 'flow');
    await type(...args, 'runs', 'list');
    return [...new Set(seen)];
  };

  test('comes from STEPWELL_START_URL, beside STEPWELL_URL', async () => {
    const env = { STEPWELL_URL: url, STEPWELL_START_URL: 'https://start.example.com/' };
    expect(await targets(env)).toEqual(['https://start.example.com', url]);
    expect(await targets({ ...env, STEPWELL_START_URL: '' })).toEqual([url]);
  });
  test('comes from the profile', async () => {
    const args = ['--url', 'https://one.example.com', '--start-url', 'https://start.one.example.com/'];
    expectExit(await cliIn().type('profiles', 'add', 'one', ...args), 0);
    expect(await targets({}, '--profile', 'one')).toEqual(['https://start.one.example.com', 'https://one.example.com']);
  });
  test('comes from the embedded cloud', async () => {
    mkdirSync(join(cwd, '.stepwell'), { mode: 0o700 });
    const local = { url: 'http://127.0.0.1:4700', startUrl: 'http://127.0.0.1:4700/start-api', apiKey: 'sw_local_own' };
    write(join(cwd, '.stepwell', 'local.json'), JSON.stringify(local));
    expect(await targets({})).toEqual([local.startUrl, local.url]);
  });
  test('is never that of another source, which would get the key', async () => {
    expectExit(await cliIn().type('profiles', 'add', 'two', '--url', 'https://two.example.com'), 0);
    const env = { STEPWELL_URL: url, STEPWELL_START_URL: 'https://start.example.com' };
    expect(await targets(env, '--url', 'https://flag.example.com')).toEqual(['https://flag.example.com']);
    expect(await targets(env, '--profile', 'two')).toEqual(['https://two.example.com']);
    embedded();
    expect(await targets({ STEPWELL_START_URL: 'https://start.example.com' })).toEqual(['http://127.0.0.1:4700']);
  });
  test('must be an address, and plain http causes a warning', async () => {
    const cli = (STEPWELL_START_URL: string) =>
      cliIn({ STEPWELL_API_KEY: 'sw_key', STEPWELL_URL: url, STEPWELL_START_URL }).type('runs', 'list');
    expect(await cli('start.example.com')).toMatchObject({ exitCode: 3 });
    expect((await cli('http://start.example.com')).err).toContain('http://start.example.com is not https');
  });
});

describe('key protection', () => {
  test('a key file that other users can read causes a warning', async () => {
    embedded();
    chmodSync(join(cwd, '.stepwell', 'local.json'), 0o644);
    expect((await requestTarget({})).err).toContain('holds a key and can be read by others: chmod 600');
  });
  test('plain http causes a warning, except for this machine', async () => {
    const key = { STEPWELL_API_KEY: 'sw_x' };
    expect((await requestTarget({ ...key, STEPWELL_URL: 'http://api.example.com' })).err).toContain('is not https');
    expect((await requestTarget({ ...key, STEPWELL_URL: 'http://127.0.0.1:1' })).err).toBe('');
  });
  test('no message contains the key', async () => {
    const { type } = createTestCli({
      env: { STEPWELL_URL: 'https://x.example.com', STEPWELL_API_KEY: 'sw_test_secret with spaces' },
    });
    const { exitCode, out, err } = await type('runs', 'list');
    expect(exitCode).toBe(3);
    expect(out + err).not.toContain('secret');
  });
});

describe('profiles', () => {
  const listedProfiles = z.strictObject({
    items: z.array(
      z.strictObject({
        name: z.string(),
        url: z.string(),
        startUrl: z.string().exactOptional(),
        apiKeyEnv: z.string().exactOptional(),
        apiKeyFile: z.string().exactOptional(),
        isInUse: z.boolean(),
      }),
    ),
  });
  const list = async () => dataIn(await cliIn().type('profiles', 'list', '--json'), listedProfiles).items;

  test('are added, used, changed and removed', async () => {
    expect(await list()).toEqual([]);
    await cliIn().type('profiles', 'add', 'one', '--url', 'https://one.example.com');
    await cliIn().type('profiles', 'use', 'one');
    await cliIn().type('profiles', 'add', 'one', '--url', 'https://uno.example.com', '--api-key-env', 'ONE');
    expect(await list()).toEqual([{ name: 'one', url: 'https://uno.example.com', apiKeyEnv: 'ONE', isInUse: true }]);
    expect((await cliIn().type('profiles', 'list')).out).toMatch(/^\* one +https:\/\/uno\.example\.com +ONE$/m);
    expectExit(await cliIn().type('profiles', 'remove', 'one'), 0);
    expect(await list()).toEqual([]);
    expect(errorIn(await cliIn().type('runs', 'list', '--json')).code).toBe('no_connection');
  });
  test('are stored in a private file', async () => {
    await cliIn().type('profiles', 'add', 'one', '--url', 'https://one.example.com');
    const path = join(home, '.config', 'stepwell', 'config.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ profiles: { one: { url: 'https://one.example.com' } } });
  });
  test('XDG_CONFIG_HOME sets the location', async () => {
    const folder = createFolder();
    await cliIn({ XDG_CONFIG_HOME: folder }).type('profiles', 'add', 'one', '--url', 'https://one.example.com');
    expect(readFileSync(join(folder, 'stepwell', 'config.json'), 'utf8')).toContain('one.example.com');
  });
  test.each([
    [['use', 'none'], 1, 'no_profile'],
    [['remove', 'none'], 1, 'no_profile'],
    [['add', '__proto__', '--url', 'https://x.example.com'], 3, 'usage'],
    [['add', 'x'], 3, 'usage'],
    [['add', 'x', '--url', 'https://x.example.com', '--api-key-env', 'A', '--api-key-file', 'b'], 3, 'usage'],
  ])('%j is refused', async (args, exitCode, code) => {
    const answer = await cliIn().type('--json', 'profiles', ...args);
    expect([answer.exitCode, errorIn(answer).code]).toEqual([exitCode, code]);
  });
  test('an invalid profile file is not overwritten', async () => {
    mkdirSync(join(home, '.config', 'stepwell'), { recursive: true });
    const path = write(
      join(home, '.config', 'stepwell', 'config.json'),
      '{"profiles":{"x":{"url":"https://x.example.com","apiKey":"sw_"}}}',
    );
    const answer = await cliIn().type('--json', 'profiles', 'add', 'y', '--url', 'https://y.example.com');
    expect([answer.exitCode, errorIn(answer).code]).toEqual([1, 'profiles_unreadable']);
    expect(readFileSync(path, 'utf8')).toContain('x.example.com');
  });
});
