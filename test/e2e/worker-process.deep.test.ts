/** `stepwell worker start` in separate processes, against an embedded cloud whose function does not receive from the code queue. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { freshFolder, root } from './local-start.ts';

const program = join(root, 'bin/stepwell-cli.mjs');
const home = freshFolder();
const project = freshFolder();
const settings = join(home, 'worker.json');

const code = (version: string): string => `
import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { defineWorkflow } from 'stepwell/sdk';
export const count = defineWorkflow({ name: 'count' }, async ({ input, step }) => {
  const done = [];
  for (const name of ['a', 'b', 'c', 'd']) done.push(await step.run({ name }, async () => {
    appendFileSync(input.file, name + '\\n');
    await wait(name === input.slowOne ? 60_000 : input.stepMs);
    return process.pid;
  }));
  return done;
});
export const versioned = defineWorkflow({ name: 'versioned' }, async ({ step }) => {
  const before = await step.run({ name: 'before' }, () => '${version}');
  await step.waitForSignal({ signal: 'proceed' });
  return [before, '${version}'];
});
`;
const write = (version: string): void => writeFileSync(join(project, 'workflows/all.ts'), code(version));

let cloud: InProcessCloud;
const children: ChildProcess[] = [];
const environment = () => ({
  ...process.env,
  HOME: home,
  STEPWELL_URL: cloud.url,
  STEPWELL_API_KEY: cloud.apiKey,
});
beforeAll(async () => {
  cloud = await startInProcessCloud({ 'stepwell:codeRunsIn': 'worker' });
  writeFileSync(settings, JSON.stringify(cloud.cloud.worker));
  mkdirSync(join(project, 'workflows'));
  writeFileSync(join(project, 'stepwell.config.json'), '{ "worker": { "concurrency": 3 } }');
  write('one');
  await promisify(execFile)(process.execPath, [program, 'deploy'], { cwd: project, env: environment() });
});
afterAll(async () => {
  for (const child of children) await end(child, 'SIGKILL');
  // The terminal shows only the denials that the last tests caused.
  const told = await cloud.stop().then(() => '', String);
  expect(told.split('\n').filter((line) => line !== '' && !/\.fifox |table\/other /.test(line))).toEqual([]);
});

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
  return child.exitCode;
}

interface Told {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly out: () => string;
  readonly err: () => string;
}

function run(...given: readonly string[]): Told {
  const child = spawn(process.execPath, [program, ...given], {
    cwd: project,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return { child, pid: child.pid ?? 0, out: () => out, err: () => err };
}
const until = (what: () => unknown): Promise<void> => expect.poll(what, { timeout: 30_000, interval: 30 }).toBe(true);

async function startWorker(...options: readonly string[]): Promise<Told> {
  const worker = run('worker', 'start', '--settings', settings, '--visibility-timeout-seconds', '3', ...options);
  await until(() => worker.err().includes('taking messages for code') || worker.child.exitCode !== null);
  expect(worker.child.exitCode, worker.err()).toBeNull();
  return worker;
}

let starts = 0;
async function start(workflowName: string, input: unknown = {}): Promise<string> {
  const key = { 'idempotency-key': `start-${(starts += 1)}` };
  const { status, body } = await cloud.call('POST', '/v1/runs', { workflowName, input }, key);
  expect(status, JSON.stringify(body)).toBe(202);
  return z.looseObject({ runId: z.string() }).parse(body).runId;
}

const runShape = z.looseObject({
  status: z.string(),
  deploymentId: z.string(),
  output: z.unknown().optional(),
  nodes: z.array(z.looseObject({ nodeId: z.string(), status: z.string(), attempt: z.int() })),
});
type Run = z.output<typeof runShape>;

async function when(id: string, holds: (found: Run) => boolean): Promise<Run> {
  for (;;) {
    const found = runShape.parse((await cloud.call('GET', `/v1/runs/${id}`)).body);
    if (holds(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
const ended = (id: string): Promise<Run> => when(id, ({ status }) => status !== 'pending' && status !== 'running');
const attempts = ({ nodes }: Run): readonly (readonly [string, number])[] =>
  nodes.filter(({ nodeId }) => !nodeId.startsWith('.')).map(({ nodeId, attempt }) => [nodeId, attempt]);
const is = (nodeId: string, status: string) => (found: Run) =>
  found.nodes.some((node) => node.nodeId === nodeId && node.status === status);
const begun = (file: string): readonly string[] => {
  try {
    return readFileSync(file, 'utf8').trim().split('\n');
  } catch {
    return [];
  }
};
const pids = (found: Run): readonly number[] => z.array(z.int()).parse(found.output);

/** the running worker, shared by the tests, because a start takes a second */
let worker: Told;

describe('a worker', { timeout: 60_000 }, () => {
  test('that is killed half-way: another one continues its runs, and no completed step runs again', async () => {
    const file = join(freshFolder(), 'begun');
    const id = await start('count', { file, stepMs: 300 });
    const first = await startWorker();
    await when(id, is('b', 'completed'));
    await end(first.child, 'SIGKILL');
    worker = await startWorker();
    const found = await ended(id);
    expect(found.status).toBe('completed');
    expect(new Set(pids(found))).toEqual(new Set([first.pid, worker.pid]));
    expect(pids(found).slice(0, 2)).toEqual([first.pid, first.pid]);
    for (const name of ['a', 'b']) expect(begun(file).filter((each) => each === name)).toEqual([name]);
    expect(begun(file).length).toBeLessThanOrEqual(5);
  });

  test('uses newly deployed code for new runs, and running ones keep theirs', async () => {
    const dev = run('dev');
    await until(() => dev.out() !== '');
    const old = await start('versioned');
    await when(old, is('proceed', 'waiting'));
    write('two');
    await until(() => dev.out().includes('~ versioned'));
    await end(dev.child, 'SIGINT');
    const fresh = await start('versioned');
    await when(fresh, is('proceed', 'waiting'));
    for (const id of [fresh, old])
      expect((await cloud.call('POST', `/v1/runs/${id}/signals`, { name: 'proceed' })).status).toBe(202);
    expect((await ended(old)).output).toEqual(['one', 'one']);
    expect((await ended(fresh)).output).toEqual(['two', 'two']);
  });

  test('that gets SIGTERM completes its running step, starts no other, exits with 0, and another one continues at once', async () => {
    const file = join(freshFolder(), 'begun');
    const first = worker;
    const id = await start('count', { file, stepMs: 700 });
    await until(() => begun(file).includes('b'));
    expect(await end(first.child, 'SIGTERM'), first.err()).toBe(0);
    expect(first.err()).toContain('1 messages in flight have 25 s to finish');
    expect(begun(file)).toEqual(['a', 'b']);
    worker = await startWorker('--visibility-timeout-seconds', '600', '--drain-seconds', '1');
    const found = await ended(id);
    expect(pids(found)).toEqual([first.pid, first.pid, worker.pid, worker.pid]);
    expect(attempts(found)).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
      ['d', 1],
    ]);
    expect(begun(file)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('releases runs that do not finish in time, so that others continue without a wait', async () => {
    const file = join(freshFolder(), 'begun');
    const first = worker;
    await start('count', { file, stepMs: 10, slowOne: 'b' });
    await until(() => begun(file).includes('b'));
    expect(await end(first.child, 'SIGINT'), first.err()).toBe(0);
    expect(first.err()).toContain('not finished within the drain time: released for other workers');
    expect(first.out()).toContain('1 left for other workers');
    worker = await startWorker();
    await until(() => begun(file).filter((each) => each === 'b').length === 2);
  });

  test('that gets two signals exits at once', async () => {
    worker.child.kill('SIGTERM');
    await until(() => worker.err().includes('in flight have'));
    // The CLI treats an immediate second signal as the same one.
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await end(worker.child, 'SIGTERM')).toBe(130);
  });

  test.each([
    ['a queue that is not there', 1, 'STEPWELL_CODE_QUEUE_URL', (given: string) => `${given}x`, /QueueDoesNotExist|AccessDenied/],
    ['a table that is not its own', 1, 'STEPWELL_RUNS_TABLE', () => 'other', /ResourceNotFound|AccessDenied/],
    ['unknown credentials', 1, 'AWS_ACCESS_KEY_ID', () => 'LKIANOBODY', /security token .* is invalid/],
    ['no region', 1, 'AWS_REGION', () => '', /No AWS region is set\. Set AWS_REGION/],
    ['an endpoint without a server', 4, 'AWS_ENDPOINT_URL', () => 'http://127.0.0.1:9', /ECONNREFUSED/],
  ])('with %s exits with %i and the reason', async (_what, exitCode, name, wrong, message) => {
    const file = join(home, `${name}.json`);
    const given = cloud.cloud.worker ?? {};
    writeFileSync(file, JSON.stringify({ ...given, [name]: wrong(given[name] ?? '') }));
    const told = run('worker', 'start', '--settings', file);
    await once(told.child, 'exit');
    expect([told.child.exitCode, told.err()]).toEqual([exitCode, expect.stringMatching(message)]);
  });
});
