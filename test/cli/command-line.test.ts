/** Behaviour of all commands: help, exit codes, the --json form and colour. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { instantGraph, openGraph, started } from '../functions/http.ts';
import { createCliEnvironment, dataIn, errorIn, refuseRequests, createTestCli, url } from './test-cli.ts';
import * as z from 'zod';

const runId = 'wrun_01M7XSDTEE14XW69VBQD8BT3DC';
const withKey = { env: { STEPWELL_URL: url, STEPWELL_API_KEY: 'sw_test_12345678_x' } };
const unauthorized = () =>
  Promise.resolve(Response.json({ code: 'unauthorized', message: 'no', correlationId: 'c' }, { status: 401 }));

describe('help', () => {
  test.each([['--help'], ['help']])(
    'stepwell %s prints every command and exit code on stdout, and sends nothing',
    async (word) => {
      const { type, sent } = createTestCli();
      const { exitCode, out, err } = await type(word);
      expect([exitCode, err, sent.length]).toEqual([0, '', 0]);
      for (const name of [
        'runs',
        'workflows',
        'deploy',
        'activate',
        'rollback',
        'keys',
        'audit',
        'doctor',
        'open',
        'redrive',
        'explain',
      ])
        expect(out).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
      expect(out).toContain('130 interrupted');
    },
  );
  test('of a command lists its options', async () => {
    const { exitCode, out } = await createTestCli().type('runs', 'start', '--help');
    expect(exitCode).toBe(0);
    expect(out).toContain('--idempotency-key <key>');
  });
  test.each([[[]], [['runs']]])('%j without a subcommand prints help on stderr', async (args) => {
    const { exitCode, out, err } = await createTestCli().type(...args);
    expect([exitCode, out]).toEqual([3, '']);
    expect(err).toContain('Usage: stepwell');
  });
});

describe('an invalid command line exits with 3 and sends nothing', () => {
  test.each([
    [['walk'], "unknown command 'walk'"],
    [['runs', 'lsit'], 'Did you mean list?'],
    [['runs', 'get'], "missing required argument 'runId'"],
    [
      ['runs', 'get', 'wrun_1'],
      '<runId> must be a run id, such as wrun_01M7XSDTEE14XW69VBQD8BT3DC, or at least the first 4 characters after wrun_, or latest (value: "wrun_1")',
    ],
    [['runs', 'get', runId, runId], 'too many arguments'],
    [['runs', 'list', '--status', 'over'], 'Allowed choices are pending, running'],
    [['runs', 'list', '--limit', 'all'], '--limit must be a number (value: "all")'],
    [
      ['runs', 'list', '--created-after', 'yesterday'],
      '--created-after must be a time such as 2026-01-31T12:00:00Z (value: "yesterday")',
    ],
    [['runs', 'start', '..'], '<workflow> must be the name of a workflow'],
    [['runs', 'start', 'flow', '--input', '{'], '--input must be JSON'],
    [['runs', 'start', 'flow', '--input', '{}', '--input-file', 'x'], '--input and --input-file exclude each other'],
    [['runs', 'start', 'flow', '--input-file', 'nowhere.json'], 'nowhere.json cannot be read'],
    [['runs', 'cancel'], 'Give a run id or a filter'],
    [['runs', 'cancel', runId, '--workflow', 'flow'], 'A run id and filters exclude each other'],
    [['runs', 'cancel', '--status', 'completed'], 'Allowed choices are pending, running'],
    [['runs', 'rerun'], 'Give a run id or a filter'],
    [['runs', 'rerun', 'latest', '--result', 'a=1'], 'give both'],
    [['runs', 'rerun', 'latest', '--from', 'b', '--result', 'a'], '--result must be <step>=<json>'],
    [['runs', 'rerun', 'latest', '--from', 'b', '--result', 'a=text'], '--result must be <step>=<json>'],
    [['runs', 'rerun', 'latest', '--replace', 'a=1'], 'give both'],
    [['runs', 'rerun', 'latest', '--from', 'b', '--replace', 'a=text'], '--replace must be <node>=<json>'],
    [['runs', 'rerun', '--workflow', 'flow', '--idempotency-key', 'x'], '--idempotency-key is for one run'],
    [['keys', 'create', '--scopes', 'admin,all'], '--scopes must be of these: trigger:write'],
    [['keys', 'create'], "required option '--scopes"],
    [['keys', 'revoke', 'x'], '<keyId> must be a key id'],
    [['workflows', 'publish', 'nowhere.json'], 'nowhere.json cannot be read'],
    [['deploy'], 'There is no stepwell.config.ts in '],
    [['activate', 'a b'], '<deploymentId> must be a deployment id'],
    [['--url', 'ftp://x', 'runs', 'list'], 'must use http or https'],
    [['--url', url, '--profile', 'x', 'runs', 'list'], '--url and --profile exclude each other'],
    [['--profile', 'x', 'runs', 'list'], 'There is no profile x'],
  ])('%j', async (args, message) => {
    const cli = createTestCli(withKey);
    const { exitCode, out, err } = await cli.type(...args);
    expect([exitCode, out]).toEqual([3, '']);
    expect(err).toContain(message);
    expect(err).toMatch(/^error: /);
    const machine = await cli.type('--json', ...args);
    expect([machine.exitCode, machine.err]).toEqual([3, '']);
    expect(errorIn(machine).message).toContain(message);
    expect(cli.sent).toEqual([]);
  });
});

describe('exit codes', () => {
  test('a refused request exits with 1 and prints the code, the correlation id and the recovery', async () => {
    const { type } = createTestCli({ ...withKey, fetch: unauthorized });
    const { exitCode, out, err } = await type('runs', 'list');
    expect([exitCode, out]).toEqual([1, '']);
    expect(err).toContain('401 unauthorized');
    expect(err).toContain('Send a valid key');
    expect(errorIn(await type('runs', 'list', '--json'))).toMatchObject({
      code: 'unauthorized',
      status: 401,
      correlationId: 'c',
    });
  });
  test('a missing scope is printed', async () => {
    const { cliWithScopes } = createCliEnvironment();
    const { type } = await cliWithScopes(['runs:read']);
    const answer = await type('workflows', 'list', '--json');
    expect(answer.exitCode).toBe(1);
    expect(errorIn(answer)).toMatchObject({ code: 'missing_scope', required: 'workflows:read' });
  });
  test('an unreachable service exits with 4 and prints the reason', async () => {
    const cause = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' });
    const { type } = createTestCli({ ...withKey, fetch: () => Promise.reject(new TypeError('fetch failed', { cause })) });
    const { exitCode, err } = await type('runs', 'list');
    expect(exitCode).toBe(4);
    expect(err).toContain('ECONNREFUSED');
    expect(errorIn(await type('runs', 'list', '--json')).code).toBe('unreachable');
  });
  test('a missing installation or key exits with 3', async () => {
    expect(errorIn(await createTestCli().type('runs', 'list', '--json')).code).toBe('no_connection');
    const { exitCode, err } = await createTestCli({ env: { STEPWELL_URL: url } }).type('runs', 'list');
    expect(exitCode).toBe(3);
    expect(err).toContain('set STEPWELL_API_KEY');
  });
  test('an interrupt exits with 130 and prints nothing', async () => {
    const { api, cliWithScopes, runToEnd } = createCliEnvironment();
    const { type, interrupt, sent } = await cliWithScopes(['admin']);
    const run = await started(api, await api.key(['admin']), { graph: openGraph });
    const watching = type('runs', 'watch', run);
    await expect.poll(() => sent.length, { interval: 1 }).toBeGreaterThanOrEqual(1);
    interrupt();
    const { exitCode, err } = await runToEnd(watching);
    expect([exitCode, err]).toEqual([130, '']);
  });
});

describe('colour', () => {
  const escape = String.fromCharCode(27);
  const printed = async (given: Parameters<typeof createTestCli>[0], ...more: readonly string[]): Promise<string> => {
    const { api, cliWithScopes } = createCliEnvironment();
    await started(api, await api.key(['admin']), { graph: instantGraph() });
    const { type } = await cliWithScopes(['admin'], given);
    return (await type('runs', 'list', ...more)).out;
  };
  test('is used on a terminal, in addition to the text', async () => {
    const out = await printed({ supportsColour: true });
    expect(out).toContain(escape);
    expect(out).toContain('✓ completed');
  });
  test.each([
    ['there is no terminal', {}, []],
    ['NO_COLOR is set', { supportsColour: true, env: { NO_COLOR: '1' } }, []],
    ['the terminal is dumb', { supportsColour: true, env: { TERM: 'dumb' } }, []],
    ['--no-color is set', { supportsColour: true }, ['--no-color']],
    ['--json is set', { supportsColour: true }, ['--json']],
  ])('is not used when %s; the text is the same', async (_why, given, more) => {
    const out = await printed(given, ...more);
    expect(out).not.toContain(escape);
    expect(out).toContain('completed');
  });
  test('control characters in workflow output are escaped', async () => {
    const { api, cliWithScopes, runToEnd } = createCliEnvironment();
    const key = await api.key(['admin']);
    const code = 'throw new Error("\\u001b]0;owned\\u0007 \\u001b[31mred \\u009b2J\\rover")';
    const graph = {
      nodes: [
        { id: 'start', type: 'start' },
        { id: 'work', type: 'javascript', config: { code } },
      ],
      edges: [{ source: 'start', target: 'work' }],
    };
    const run = await started(api, key, { graph });
    const { type } = await cliWithScopes(['admin']);
    const { out, err } = await runToEnd(type('runs', 'watch', run));
    expect(out + err).toContain('owned');
    // oxlint-disable-next-line no-control-regex -- the output must not contain them
    expect(out + err).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  });
});

test('--json prints one document on stdout and progress on stderr', async () => {
  const { api, cliWithScopes } = createCliEnvironment();
  await started(api, await api.key(['admin']));
  const { type } = await cliWithScopes(['admin']);
  const answer = await type('--json', 'runs', 'start', 'flow');
  expect(dataIn(answer, z.looseObject({ runId: z.string() })).runId).toMatch(/^wrun_/);
  expect(answer.err).toContain('stepwell runs watch');
});

test('local commands send no requests', async () => {
  const { type, sent } = createTestCli({ ...withKey, fetch: refuseRequests });
  await type('profiles', 'list');
  await type('open', '--no-browser');
  expect(sent).toEqual([]);
});

test('--version prints the version of the package', async () => {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')));
  for (const option of ['--version', '-V'])
    expect(await createTestCli().type(option)).toEqual({ exitCode: 0, out: `${version}\n`, err: '' });
});

describe('shell completion', () => {
  const printed = async (...args: readonly string[]): Promise<string> => {
    const lines: unknown[] = [];
    const log = vi.spyOn(console, 'log').mockImplementation((line: unknown) => void lines.push(line));
    try {
      expect((await createTestCli().type(...args)).exitCode).toBe(0);
    } finally {
      log.mockRestore();
    }
    return lines.join('\n');
  };
  test.each(['bash', 'zsh', 'fish', 'powershell'])('prints a script for %s that asks for suggestions', async (shell) => {
    expect(await printed('completion', shell)).toMatch(/stepwell/);
  });
  test('a bash accepts the script', async () => {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: await printed('completion', 'bash'), encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
  test('suggests commands, options and their values', async () => {
    expect(await printed('complete', '--', 'ru')).toMatch(/^runs\t/m);
    expect(await printed('complete', '--', 'runs', 'wa')).toMatch(/^watch\t[^]*^wake\t/m);
    expect(await printed('complete', '--', 'runs', 'list', '--st')).toMatch(/^--status\t/m);
    expect(await printed('complete', '--', 'runs', 'list', '--status', 'fa')).toMatch(/^failed/m);
  });
  test('refuses an unknown shell', async () => {
    expect(await createTestCli().type('completion', 'tcsh')).toMatchObject({ exitCode: 3 });
  });
});
