/** `validate-ownership` and `check-config` print a line for each check, and exit with the code of the worst result. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { appHost } from '../../lib/app-host/index.ts';
import { fetchOf } from '../client/in-process.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { formOf, http } from '../functions/http.ts';
import { dataIn, errorIn, createFolder, createTestCli, url } from './test-cli.ts';

const shape = z.strictObject({
  checks: z.array(z.strictObject({ name: z.string(), result: z.enum(['pass', 'warn', 'fail']), message: z.string() })),
});

const appUrl = 'https://app.example.com';
const token = 'a-token-of-32-characters-or-more';
const production = {
  NODE_ENV: 'production',
  WORKFLOW_EXECUTION_MODE: 'remote',
  WORKFLOW_TARGET_WORLD: 'workflow-studio/world-remote',
  WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN: token,
};

interface OwnershipWorld {
  /** replaces the service's response if it returns one */
  readonly service?: (path: string) => Response | undefined;
  /** the environment of the application; undefined: the application does not respond */
  readonly app?: Record<string, string>;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

const healthyApp = (path: string): Response | undefined => {
  if (path === '/v1/health') return Response.json({ healthy: true, timestamp: 't' });
  if (path === '/v1/deployments/one/health') return Response.json({ deploymentId: 'one', healthy: true, latencyMs: 7 });
  return path === '/v1/deployments/active' ? Response.json({ deploymentId: 'one', activatedAt: 't', revision: 1 }) : undefined;
};

const callbackToApp = (): Request =>
  new Request(`${appUrl}/.well-known/workflow/v1/flow`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-vqs-queue-name': '__wkf_workflow_order' },
    body: '{}',
  });

const createOwnershipCli = ({ service = healthyApp, app = production, env = {}, cwd }: OwnershipWorld = {}) => {
  const host = appHost({ env: app, now: () => Date.UTC(2026, 0, 1) });
  const made = createTestCli({
    env: { HOME: createFolder(), STEPWELL_URL: url, STEPWELL_API_KEY: 'sw_test_key', ...env },
    ...(cwd === undefined ? {} : { cwd }),
    fetch: async (target, init) => {
      const { origin, pathname } = new URL(target);
      if (origin === appUrl) return (await host.handle(new Request(target, init))) ?? new Response('', { status: 404 });
      const answer = service(pathname);
      if (answer === undefined) throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
      return answer;
    },
  });
  return { ...made, host };
};

const strictArgs = ['validate-ownership', '--strict', '--app-url', appUrl, '--diagnostics-token', token];

describe('validate-ownership', () => {
  test('all checks pass: one line for each, and exit code 0', async () => {
    const { exitCode, out } = await createOwnershipCli().type(...strictArgs);
    expect(out.trim().split('\n')).toEqual([
      '[PASS] worker_health: the service is healthy',
      '[PASS] active_deployment: one is active',
      '[PASS] diagnostics: the application responds',
      '[PASS] remote_mode: runs execute in the service',
      '[PASS] strict_mode: the guard prevents a wrong start',
      '[PASS] target_world: workflow-studio/world-remote',
      '[PASS] ownership_status: no callback has reached the application',
      '[PASS] callback: the code answered in the service after 7 ms',
    ]);
    expect(exitCode).toBe(0);
  });

  test('without an application only the service is checked', async () => {
    const { type, sent } = createOwnershipCli();
    expect((await type('validate-ownership')).exitCode).toBe(0);
    expect(sent.map(({ path }) => path)).toEqual(['/v1/health', '/v1/deployments/active']);
  });

  test.each([
    { 'x-vqs-signature': 'abc' },
    { 'x-vqs-queue-name': '__wkf_workflow_greet', 'x-vqs-message-id': 'msg_1', 'x-vqs-message-attempt': '1' },
  ])('a callback %o that reached the application fails; after fifteen minutes it is a warning', async (markers) => {
    const time = { now: 0 };
    const host = appHost({ env: production, now: () => time.now });
    const headers = { 'content-type': 'application/json', ...markers };
    const callback = new Request(`${appUrl}/.well-known/workflow/v1/flow`, { method: 'POST', headers, body: '{}' });
    expect((await host.handle(callback))?.status).toBe(409);
    const { type } = createTestCli({
      env: { HOME: createFolder(), STEPWELL_URL: url, STEPWELL_API_KEY: 'sw_test_key' },
      fetch: async (target, init) =>
        (target.startsWith(appUrl) ? await host.handle(new Request(target, init)) : healthyApp(new URL(target).pathname)) ??
        Response.error(),
    });
    const failed = await type(...strictArgs);
    expect(failed.out).toContain('[FAIL] ownership_status: unexpected hits: 1 in 15 minutes, 1 in total, the last at 1970-01-01');
    expect(failed.exitCode).toBe(1);
    time.now = 16 * 60_000;
    const warned = await type(...strictArgs);
    expect(warned.out).toContain('[WARN] ownership_status: unexpected hits: 0 in 15 minutes, 1 in total');
    expect(warned.exitCode).toBe(2);
  });

  test.each([
    ['another world', { ...production, WORKFLOW_TARGET_WORLD: 'local' }, 'target_world'],
    ['local mode', { ...production, WORKFLOW_EXECUTION_MODE: 'local' }, 'remote_mode'],
    ['another token', { ...production, WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN: 'other' }, 'diagnostics'],
  ])('an application with %s fails with --strict and is a warning otherwise', async (_what, app, name) => {
    const strict = await createOwnershipCli({ app }).type(...strictArgs);
    expect(strict.out).toMatch(new RegExp(String.raw`^\[FAIL\] ${name}: `, 'm'));
    expect(strict.exitCode).toBe(1);
    const lenient = await createOwnershipCli({ app }).type(...strictArgs.filter((word) => word !== '--strict'));
    expect(lenient.out).toMatch(new RegExp(String.raw`^\[WARN\] ${name}: `, 'm'));
    expect(lenient.exitCode).toBe(2);
  });

  test.each([
    ['does not answer in time', { body: { healthy: false, latencyMs: 20_000 } }, 'FAIL', 'within 20000 ms'],
    ['cannot be called', { body: { code: 'deployment_not_verified' }, status: 409 }, 'FAIL', '409 deployment_not_verified'],
    ['is no app of the Workflow DevKit', { body: { code: 'invalid_request' }, status: 400 }, 'WARN', 'not checked'],
  ])(
    'with --strict, code that %s is reported',
    async (_what, { body, status = 200 }: { body: object; status?: number }, result, part) => {
      const service = (path: string) =>
        path === '/v1/deployments/one/health' ? Response.json(body, { status }) : healthyApp(path);
      const { exitCode, out } = await createOwnershipCli({ service }).type(...strictArgs);
      expect(out).toMatch(new RegExp(String.raw`^\[${result}\] callback: .*${part}`, 'm'));
      expect(exitCode).toBe(result === 'FAIL' ? 1 : 2);
    },
  );

  test('with --strict, a service that does not answer about the callback fails, and is called once', async () => {
    const service = (path: string) => (path === '/v1/deployments/one/health' ? undefined : healthyApp(path));
    const { type, sent } = createOwnershipCli({ service });
    expect((await type(...strictArgs)).out).toContain('[FAIL] callback: no response: connect ECONNREFUSED');
    expect(sent.filter(({ path }) => path === '/v1/deployments/one/health')).toHaveLength(1);
  });

  test('with --strict, a callback that goes to the application fails', async () => {
    const { host, type } = createOwnershipCli({
      service: (path) => {
        if (path === '/v1/deployments/one/health') void host.handle(callbackToApp());
        return healthyApp(path);
      },
    });
    const { exitCode, out } = await type(...strictArgs);
    expect(out).toContain('[FAIL] callback: a callback reached the application while the service called the code');
    expect(exitCode).toBe(1);
  });

  test('a missing active deployment fails with the message of the service', async () => {
    const refusal = {
      code: 'no_active_deployment',
      message: 'No active deployment. Activate a deployment before triggering runs.',
    };
    const service = (path: string) => (path === '/v1/health' ? healthyApp(path) : Response.json(refusal, { status: 409 }));
    const { exitCode, out } = await createOwnershipCli({ service }).type(...strictArgs);
    expect(out).toContain('[FAIL] active_deployment: 409 no_active_deployment No active deployment.');
    expect(out).toContain('[FAIL] callback: no deployment is active, so the application has handed over no runs');
    expect(exitCode).toBe(1);
  });

  test('a service that does not respond is retried, fails, and never receives the key', async () => {
    const { type, sent } = createOwnershipCli({ service: () => undefined });
    const { exitCode, out } = await type('validate-ownership');
    expect(out).toBe('[FAIL] worker_health: no response: connect ECONNREFUSED\n');
    expect(exitCode).toBe(1);
    expect(sent.map(({ headers }) => headers.has('authorization'))).toEqual([false, false, false]);
  });

  test('only the service receives the key, and only the application receives the token', async () => {
    const { type, sent } = createOwnershipCli();
    await type(...strictArgs);
    expect(sent.map(({ path, headers }) => [path.split('/').at(-1), headers.get('authorization')])).toEqual([
      ['health', null],
      ['active', 'Bearer sw_test_key'],
      ['remote-ownership', `Bearer ${token}`],
      ['health', 'Bearer sw_test_key'],
      ['remote-ownership', `Bearer ${token}`],
    ]);
  });

  test('the token can come from the environment', async () => {
    const { type } = createOwnershipCli({ env: { WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN: token } });
    expect((await type('validate-ownership', '--strict', '--app-url', appUrl)).exitCode).toBe(0);
  });

  test('--json prints the checks', async () => {
    const printed = await createOwnershipCli().type(...strictArgs, '--json');
    expect(dataIn(printed, shape).checks).toHaveLength(8);
    expect(dataIn(printed, shape).checks[1]).toEqual({ name: 'active_deployment', result: 'pass', message: 'one is active' });
  });

  test('a configuration sets the service, the key and the world; --url precedes it', async () => {
    const cwd = createFolder();
    const config = {
      execution: { mode: 'remote', remoteWorkerUrl: 'https://configured.example.com/prod', apiKeyEnv: 'ITS_KEY', retries: 0 },
      remoteWorldTarget: 'acme/world',
    };
    writeFileSync(join(cwd, 'stepwell.config.json'), JSON.stringify(config));
    const app = { ...production, WORKFLOW_TARGET_WORLD: 'acme/world', WORKFLOW_STUDIO_REMOTE_WORLD_TARGET: 'acme/world' };
    const given = { cwd, app, env: { ITS_KEY: 'sw_its_key' }, service: (path: string) => healthyApp(path.replace('/prod', '')) };
    const { type, sent } = createOwnershipCli(given);
    expect((await type(...strictArgs, '--config', 'stepwell.config.json')).exitCode).toBe(0);
    expect(sent.map(({ path }) => path)).toContain('/prod/v1/deployments/active');
    expect(sent[1]?.headers.get('authorization')).toBe('Bearer sw_its_key');
    // Without the file the usual world is expected.
    expect((await createOwnershipCli(given).type(...strictArgs)).out).toContain(
      "[FAIL] target_world: the application's target world is acme/world",
    );
    const direct = createOwnershipCli(given);
    await direct.type(...strictArgs, '--config', 'stepwell.config.json', '--url', url);
    expect(direct.sent[1]).toMatchObject({ path: '/v1/deployments/active' });
    expect(direct.sent[1]?.headers.get('authorization')).toBe('Bearer sw_test_key');
  });

  test('an invalid configuration is refused, and nothing is sent', async () => {
    const cwd = createFolder();
    writeFileSync(join(cwd, 'c.json'), '{"execution":{"failPolicy":"fallback-local"}}');
    const { type, sent } = createOwnershipCli({ cwd });
    const printed = await type('validate-ownership', '--config', 'c.json', '--json');
    expect(errorIn(printed)).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('/execution/failPolicy') });
    expect([printed.exitCode, sent.length]).toEqual([1, 0]);
  });

  test.each([
    [['--strict'], '--strict requires --app-url'],
    [['--app-url', 'app.example.com'], '--app-url must be an address'],
  ])('%j is a usage error', async (words, message) => {
    const { exitCode, err } = await createOwnershipCli().type('validate-ownership', ...words);
    expect(err).toContain(message);
    expect(exitCode).toBe(3);
  });

  test('the service without and with an active deployment', async () => {
    const api = http();
    const key = await api.key(['deploy:read', 'deploy:write']);
    const host = appHost({ env: production });
    const { type } = createTestCli({
      env: { HOME: createFolder(), STEPWELL_URL: url, STEPWELL_API_KEY: key },
      fetch: async (target, init = {}) =>
        target.startsWith(appUrl)
          ? ((await host.handle(new Request(target, init))) ?? Response.error())
          : fetchOf(api)(target, init),
    });
    const before = await type(...strictArgs);
    expect(before.out).toContain('[FAIL] active_deployment: 409 no_active_deployment No active deployment.');
    expect(before.exitCode).toBe(1);
    const { manifest, archive } = await packedDeployment('one');
    await api.call('POST', '/v1/deployments', await formOf(key, { manifest: JSON.stringify(manifest), artifact: archive }));
    await api.call('POST', '/v1/deployments/one/activate', { key });
    const after = await type(...strictArgs);
    expect(after.out).toContain('[PASS] active_deployment: one is active');
    // It is a bundle, which answers no callback of the Workflow DevKit.
    expect(after.out.match(/^\[(?!PASS).*$/gm)).toEqual([expect.stringMatching(/^\[WARN\] callback: not checked/)]);
    expect(after.exitCode).toBe(2);
  });
});

describe('check-config', () => {
  const folderWith = (files: Readonly<Record<string, string>>): string => {
    const folder = createFolder();
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return folder;
  };
  const here = { execution: { mode: 'remote', remoteWorkerUrl: 'http://127.0.0.1:4700' } };
  const checkConfigIn = (
    files: Readonly<Record<string, string>>,
    env: Record<string, string> = {},
    ...words: readonly string[]
  ) => createOwnershipCli({ cwd: folderWith(files), env }).type('check-config', ...words);
  const key = { WORKFLOW_COMPUTE_API_KEY: 'sw_local_x' };

  test('a valid configuration exits with 0', async () => {
    const { exitCode, out } = await checkConfigIn({ 'stepwell.config.json': JSON.stringify(here) }, key);
    expect(out.trim().split('\n')).toEqual([
      '[PASS] schema: stepwell.config.json is valid',
      '[PASS] mode: runs execute in the service',
      '[PASS] https: the connection to 127.0.0.1:4700 is encrypted or stays on this machine',
      '[PASS] key: WORKFLOW_COMPUTE_API_KEY is set',
    ]);
    expect(exitCode).toBe(0);
  });

  test('a TypeScript configuration is imported', async () => {
    const text = `const url: string = 'http://127.0.0.1:4700';\nexport default { execution: { mode: 'remote', remoteWorkerUrl: url } };\n`;
    expect(await checkConfigIn({ 'stepwell.config.ts': text }, key)).toMatchObject({ exitCode: 0, err: '' });
  });

  test('a warning exits with 2', async () => {
    const { exitCode, out } = await checkConfigIn({ 'stepwell.config.json': JSON.stringify(here) });
    expect(out).toContain('[WARN] key: WORKFLOW_COMPUTE_API_KEY is not set here');
    expect(exitCode).toBe(2);
  });

  test('a host that does not resolve in time is a warning', async () => {
    const config = { execution: { mode: 'remote', remoteWorkerUrl: 'https://stepwell.invalid/prod' } };
    const { exitCode, out } = await checkConfigIn({ 'stepwell.config.json': JSON.stringify(config) }, key);
    expect(out).toContain('[WARN] host: stepwell.invalid has no address here');
    expect(exitCode).toBe(2);
  });

  test.each([
    [
      'a fault',
      { 'stepwell.config.json': '{"execution":{"failPolicy":"fallback-local"}}' },
      '[FAIL] schema: /execution/failPolicy must be "error"',
    ],
    ['no JSON', { 'stepwell.config.json': '{' }, '[FAIL] schema: stepwell.config.json cannot be read'],
    ['a program that exports nothing', { 'stepwell.config.ts': 'export const a = 1;\n' }, '[FAIL] schema: / Invalid input'],
    [
      'a program that throws',
      { 'stepwell.config.ts': "throw new Error('not today');\n" },
      'stepwell.config.ts cannot be read: not today',
    ],
    ['nothing', {}, '[FAIL] schema: stepwell.config.json neither it nor stepwell.config.ts exists here'],
    ['two', { 'stepwell.config.json': '{}', 'stepwell.config.ts': 'export default {};\n' }, 'stepwell.config.ts exists too'],
  ])('%s exits with 1', async (_what, files, line) => {
    const { exitCode, out } = await checkConfigIn(files);
    expect(out).toContain(line);
    expect(exitCode).toBe(1);
  });

  test('--config names another file; a missing file fails', async () => {
    expect((await checkConfigIn({ 'other.json': '{}' }, {}, '--config', 'other.json')).exitCode).toBe(0);
    const missing = await checkConfigIn({}, {}, '--config', 'other.json', '--json');
    expect(dataIn(missing, shape).checks).toMatchObject([{ name: 'schema', result: 'fail' }]);
    expect(missing.exitCode).toBe(1);
  });
});
