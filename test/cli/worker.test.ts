/** `worker start`: its settings, its concurrency, its log lines and its exit codes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { CliError, type CommandContext, exitCodes } from '../../lib/cli/command.ts';
import { createStartWorker } from '../../lib/cli/actions/worker.ts';
import type { WorkerEnd, CodeWorkerOptions } from '../../lib/contract/worker-program.ts';
import { errorIn, expectExit, createFolder, createTestCli } from './test-cli.ts';

let home: string;
let cwd: string;
beforeEach(() => {
  home = createFolder();
  cwd = createFolder();
});
const write = (path: string, value: unknown): string => {
  writeFileSync(join(cwd, path), JSON.stringify(value));
  return join(cwd, path);
};
const settingsOf = (name: string) => ({ STEPWELL_RUNS_TABLE: name });
const defaults = { visibilityTimeoutSeconds: '30', drainSeconds: '25' };

/** Starts the action with a fake worker program; returns the program's options, the log lines and the outcome. */
async function started(
  {
    env = {},
    options = {},
    isJson = false,
  }: { env?: Record<string, string>; options?: Record<string, unknown>; isJson?: boolean },
  end: WorkerEnd = { kind: 'finished', completed: 3, remaining: 0 },
) {
  const logLines: string[] = [];
  let workerOptions: CodeWorkerOptions | undefined;
  const stop = new AbortController();
  const context: Pick<CommandContext, 'env' | 'cwd' | 'isJson' | 'signal' | 'now' | 'log' | 'sleep'> = {
    env: { HOME: home, ...env },
    cwd,
    isJson,
    signal: stop.signal,
    now: () => Date.UTC(2026, 0, 1),
    log: (line) => void logLines.push(line),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
  const action = createStartWorker(async () => async (options) => {
    workerOptions = options;
    options.log({ level: 'warn', message: 'a message was redelivered', runId: 'wrun_1', receives: 2 });
    return end;
  });
  const outcome = await action({ args: [], options: { ...defaults, ...options } }, { ...unusedContext, ...context });
  if (workerOptions === undefined) throw new Error('nothing was started');
  return { workerOptions, logLines, outcome };
}
const fail = (): never => {
  throw new Error('the worker does not use this');
};
const unusedContext = {
  fetch: fail,
  newId: fail,
  openInBrowser: undefined,
  print: fail,
  printJsonLine: fail,
  colorize: (_tone: string, text: string) => text,
  confirm: fail,
  promptText: fail,
  readInput: fail,
  connection: fail,
  client: fail,
};

describe('settings', () => {
  const profile = async (name: string): Promise<void> => {
    const file = write(`${name}.json`, settingsOf(`${name}-runs`));
    const { type } = createTestCli({ env: { HOME: home }, cwd });
    expectExit(await type('profiles', 'add', name, '--url', 'https://example.com', '--worker-settings', file), 0);
  };
  const embedded = (): void => {
    mkdirSync(join(cwd, '.stepwell'));
    write('.stepwell/worker.json', settingsOf('local'));
  };
  const project = (more: object): string => write('stepwell.config.json', more);

  test('the first configured source wins', async () => {
    for (const name of ['flag', 'named', 'ofenv', 'ofproject', 'used']) await profile(name);
    embedded();
    const file = write('file.json', settingsOf('file'));
    const environment = { STEPWELL_RUNS_TABLE: 'env', STEPWELL_PROFILE: 'ofenv' };
    const all = { env: environment, options: { settings: file, profile: 'flag' } };
    const table = async (how: Parameters<typeof started>[0]) =>
      (await started(how)).workerOptions.variables['STEPWELL_RUNS_TABLE'] ?? 'of the environment';
    expect(await table(all)).toBe('file');
    expect(await table({ ...all, options: { profile: 'flag' } })).toBe('flag-runs');
    expect(await table({ env: environment })).toBe('of the environment');
    project({ profile: 'ofproject' });
    expect(await table({ env: { STEPWELL_PROFILE: 'ofenv' } })).toBe('ofenv-runs');
    expect(await table({})).toBe('ofproject-runs');
    project({});
    expectExit(await createTestCli({ env: { HOME: home }, cwd }).type('profiles', 'use', 'used'), 0);
    expect(await table({})).toBe('used-runs');
    expectExit(await createTestCli({ env: { HOME: home }, cwd }).type('profiles', 'remove', 'used'), 0);
    expect(await table({})).toBe('local');
  });

  test('a named profile without worker settings is refused; a current one is skipped', async () => {
    const { type } = createTestCli({ env: { HOME: home }, cwd });
    expectExit(await type('profiles', 'add', 'bare', '--url', 'https://example.com'), 0);
    expectExit(await type('profiles', 'use', 'bare'), 0);
    await expect(started({ options: { profile: 'bare' } })).rejects.toThrow('No worker settings in the profile bare');
    await expect(started({})).rejects.toThrow('No worker settings are configured');
    embedded();
    expect((await started({})).workerOptions.variables).toEqual(settingsOf('local'));
  });

  test.each([
    ['no JSON', 'nonsense', 'is not JSON'],
    ['other things', '{"NODE_OPTIONS":"--inspect"}', 'must contain only variables of the code function'],
    ['values that are no text', '{"STEPWELL_RUNS_TABLE":1}', 'must contain only variables of the code function'],
  ])('a file with %s is refused', async (_what, text, message) => {
    writeFileSync(join(cwd, 'worker.json'), text);
    const answer = await createTestCli({ env: { HOME: home }, cwd }).type(
      '--json',
      'worker',
      'start',
      '--settings',
      'worker.json',
    );
    expect([answer.exitCode, errorIn(answer)]).toMatchObject([
      3,
      { code: 'worker_settings', message: expect.stringContaining(message) },
    ]);
  });
});

describe('concurrency', () => {
  beforeEach(() => {
    mkdirSync(join(cwd, '.stepwell'));
    write('.stepwell/worker.json', settingsOf('local'));
  });
  test('comes from the option, then the project, then the default of ten', async () => {
    expect((await started({})).workerOptions).toMatchObject({ concurrency: 10, visibilityTimeoutSeconds: 30, drainSeconds: 25 });
    write('stepwell.config.json', { worker: { concurrency: 4 } });
    expect((await started({})).workerOptions.concurrency).toBe(4);
    expect((await started({ options: { concurrency: '7' } })).workerOptions.concurrency).toBe(7);
  });
  test.each([
    ['--concurrency', '0'],
    ['--concurrency', '1001'],
    ['--visibility-timeout-seconds', '2'],
    ['--drain-seconds', '0'],
  ])('%s %s is a usage error', async (option, value) => {
    const answer = await createTestCli({ env: { HOME: home }, cwd }).type('--json', 'worker', 'start', option, value);
    expect([answer.exitCode, errorIn(answer).message]).toEqual([3, expect.stringContaining(option)]);
  });
});

describe('output', () => {
  beforeEach(() => {
    mkdirSync(join(cwd, '.stepwell'));
    write('.stepwell/worker.json', settingsOf('local'));
  });
  test('log lines are text, or JSON with --json', async () => {
    const { logLines, outcome } = await started({});
    expect(logLines).toEqual([
      '2026-01-01T00:00:00.000Z info  receiving messages of the embedded cloud of this folder, up to 10 at once',
      '2026-01-01T00:00:00.000Z warn  a message was redelivered runId=wrun_1 receives=2',
    ]);
    expect(outcome).toEqual({ data: { completed: 3, remaining: 0 }, text: '3 completed.' });
    const [, line = ''] = (await started({ isJson: true })).logLines;
    expect(z.looseObject({}).parse(JSON.parse(line))).toEqual({
      at: '2026-01-01T00:00:00.000Z',
      level: 'warn',
      message: 'a message was redelivered',
      runId: 'wrun_1',
      receives: 2,
    });
  });
  test('messages left for other workers are counted at the end', async () => {
    expect((await started({}, { kind: 'finished', completed: 1, remaining: 2 })).outcome.text).toBe(
      '1 completed, 2 left for other workers.',
    );
  });
  test.each([
    ['refused', { kind: 'refused', message: 'AccessDenied: no' }, 'aws', exitCodes.failed],
    ['unreachable', { kind: 'unreachable', message: 'ECONNREFUSED' }, 'aws', exitCodes.unreachable],
    ['missing_variables', { kind: 'missing_variables', names: ['STEPWELL_BUCKET'] }, 'worker_settings', exitCodes.usage],
  ] as const)('an end %s has its error code and exit code', async (_what, end, code, exitCode) => {
    const error = await started({}, end).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(CliError);
    expect(error).toMatchObject({ code, exitCode });
  });
});
