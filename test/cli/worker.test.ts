/** `worker start`: where its tables and queues are, how much it takes at once, what it prints and how it ends. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { CliError, type CommandContext, exitCodes } from '../../lib/cli/command.ts';
import { createStartWorker } from '../../lib/cli/worker/start-worker.ts';
import type { WorkerEnd, CodeWorkerOptions } from '../../lib/contract/worker-program.ts';
import { errorIn, expectExit, freshFolder, typist } from './cli-here.ts';

let home: string;
let cwd: string;
beforeEach(() => {
  home = freshFolder();
  cwd = freshFolder();
});
const write = (path: string, value: unknown): string => {
  writeFileSync(join(cwd, path), JSON.stringify(value));
  return join(cwd, path);
};
const settingsOf = (name: string) => ({ STEPWELL_RUNS_TABLE: name });
const usual = { visibilityTimeoutSeconds: '30', drainSeconds: '25' };

/** What the program was told, and what became of it. */
async function started(
  {
    env = {},
    options = {},
    isJson = false,
  }: { env?: Record<string, string>; options?: Record<string, unknown>; isJson?: boolean },
  end: WorkerEnd = { kind: 'finished', completed: 3, remaining: 0 },
) {
  const notes: string[] = [];
  let told: CodeWorkerOptions | undefined;
  const stop = new AbortController();
  const shell: Pick<CommandContext, 'env' | 'cwd' | 'isJson' | 'signal' | 'now' | 'log' | 'sleep'> = {
    env: { HOME: home, ...env },
    cwd,
    isJson,
    signal: stop.signal,
    now: () => Date.UTC(2026, 0, 1),
    log: (line) => void notes.push(line),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
  const action = createStartWorker(async () => async (given) => {
    told = given;
    given.log({ level: 'warn', message: 'a message comes back', runId: 'wrun_1', receives: 2 });
    return end;
  });
  const outcome = await action({ args: [], options: { ...usual, ...options } }, { ...unused, ...shell });
  if (told === undefined) throw new Error('nothing was started');
  return { told, notes, outcome };
}
const refuse = (): never => {
  throw new Error('a worker needs nothing of this');
};
const unused = {
  fetch: refuse,
  newId: refuse,
  openInBrowser: undefined,
  print: refuse,
  colorize: (_tone: string, text: string) => text,
  confirm: refuse,
  promptText: refuse,
  connection: refuse,
  client: refuse,
};

describe('where it works', () => {
  const profile = async (name: string): Promise<void> => {
    const file = write(`${name}.json`, settingsOf(`${name}-runs`));
    const { type } = typist({ env: { HOME: home }, cwd });
    expectExit(await type('profiles', 'add', name, '--url', 'https://example.com', '--worker-settings', file), 0);
  };
  const embedded = (): void => {
    mkdirSync(join(cwd, '.stepwell'));
    write('.stepwell/worker.json', settingsOf('local'));
  };
  const project = (more: object): string => write('stepwell.config.json', more);

  test('the first of these that is given', async () => {
    for (const name of ['flag', 'named', 'ofenv', 'ofproject', 'used']) await profile(name);
    embedded();
    const file = write('file.json', settingsOf('file'));
    const inEnv = { STEPWELL_RUNS_TABLE: 'env', STEPWELL_PROFILE: 'ofenv' };
    const all = { env: inEnv, options: { settings: file, profile: 'flag' } };
    const table = async (given: Parameters<typeof started>[0]) =>
      (await started(given)).told.variables['STEPWELL_RUNS_TABLE'] ?? 'of the environment';
    expect(await table(all)).toBe('file');
    expect(await table({ ...all, options: { profile: 'flag' } })).toBe('flag-runs');
    expect(await table({ env: inEnv })).toBe('of the environment');
    project({ profile: 'ofproject' });
    expect(await table({ env: { STEPWELL_PROFILE: 'ofenv' } })).toBe('ofenv-runs');
    expect(await table({})).toBe('ofproject-runs');
    project({});
    expectExit(await typist({ env: { HOME: home }, cwd }).type('profiles', 'use', 'used'), 0);
    expect(await table({})).toBe('used-runs');
    expectExit(await typist({ env: { HOME: home }, cwd }).type('profiles', 'remove', 'used'), 0);
    expect(await table({})).toBe('local');
  });

  test('a profile that says nothing of workers is no place for one: named, it is told so; in use, it is passed by', async () => {
    const { type } = typist({ env: { HOME: home }, cwd });
    expectExit(await type('profiles', 'add', 'bare', '--url', 'https://example.com'), 0);
    expectExit(await type('profiles', 'use', 'bare'), 0);
    await expect(started({ options: { profile: 'bare' } })).rejects.toThrow('Of workers, the profile bare says nothing');
    await expect(started({})).rejects.toThrow('There is nothing that says where the tables and queues are');
    embedded();
    expect((await started({})).told.variables).toEqual(settingsOf('local'));
  });

  test.each([
    ['no JSON', 'nonsense', 'is not JSON'],
    ['other things', '{"NODE_OPTIONS":"--inspect"}', 'other things than a function’s variables'.replace('’', "'")],
    ['values that are no text', '{"STEPWELL_RUNS_TABLE":1}', "other things than a function's variables"],
  ])('a file with %s is refused', async (_what, text, message) => {
    writeFileSync(join(cwd, 'worker.json'), text);
    const answer = await typist({ env: { HOME: home }, cwd }).type('--json', 'worker', 'start', '--settings', 'worker.json');
    expect([answer.exitCode, errorIn(answer)]).toMatchObject([
      3,
      { code: 'worker_settings', message: expect.stringContaining(message) },
    ]);
  });
});

describe('how much it takes', () => {
  beforeEach(() => {
    mkdirSync(join(cwd, '.stepwell'));
    write('.stepwell/worker.json', settingsOf('local'));
  });
  test('as the option says, else the project, else ten', async () => {
    expect((await started({})).told).toMatchObject({ concurrency: 10, visibilityTimeoutSeconds: 30, drainSeconds: 25 });
    write('stepwell.config.json', { worker: { concurrency: 4 } });
    expect((await started({})).told.concurrency).toBe(4);
    expect((await started({ options: { concurrency: '7' } })).told.concurrency).toBe(7);
  });
  test.each([
    ['--concurrency', '0'],
    ['--concurrency', '1001'],
    ['--visibility-timeout-seconds', '2'],
    ['--drain-seconds', '0'],
  ])('%s %s cannot be meant', async (option, value) => {
    const answer = await typist({ env: { HOME: home }, cwd }).type('--json', 'worker', 'start', option, value);
    expect([answer.exitCode, errorIn(answer).message]).toEqual([3, expect.stringContaining(option)]);
  });
});

describe('what it says', () => {
  beforeEach(() => {
    mkdirSync(join(cwd, '.stepwell'));
    write('.stepwell/worker.json', settingsOf('local'));
  });
  test('a line for people, and with --json a line for programs', async () => {
    const { notes, outcome } = await started({});
    expect(notes).toEqual([
      '2026-01-01T00:00:00.000Z info  works for the embedded cloud of this folder, 10 at once',
      '2026-01-01T00:00:00.000Z warn  a message comes back runId=wrun_1 receives=2',
    ]);
    expect(outcome).toEqual({ data: { completed: 3, remaining: 0 }, text: '3 done.' });
    const [, line = ''] = (await started({ isJson: true })).notes;
    expect(z.looseObject({}).parse(JSON.parse(line))).toEqual({
      at: '2026-01-01T00:00:00.000Z',
      level: 'warn',
      message: 'a message comes back',
      runId: 'wrun_1',
      receives: 2,
    });
  });
  test('what was left to others is said in the end', async () => {
    expect((await started({}, { kind: 'finished', completed: 1, remaining: 2 })).outcome.text).toBe(
      '1 done, 2 left to other workers.',
    );
  });
  test.each([
    ['refused', { kind: 'refused', message: 'AccessDenied: no' }, 'aws', exitCodes.failed],
    ['unreachable', { kind: 'unreachable', message: 'ECONNREFUSED' }, 'aws', exitCodes.unreachable],
    ['missing_variables', { kind: 'missing_variables', names: ['STEPWELL_BUCKET'] }, 'worker_settings', exitCodes.usage],
  ] as const)('one that is %s ends with its code', async (_what, end, code, exitCode) => {
    const fault = await started({}, end).catch((trouble: unknown) => trouble);
    expect(fault).toBeInstanceOf(CliError);
    expect(fault).toMatchObject({ code, exitCode });
  });
});
