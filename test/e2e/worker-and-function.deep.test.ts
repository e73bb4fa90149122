/**
 * `codeRunsIn: both`: the function and a worker process receive from one queue, so the workflow tasks of one run alternate between
 * them. Each run ends, and each step function starts as often as its record has attempts, also after a kill of the worker.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { freshFolder, root } from './local-start.ts';

const program = join(root, 'bin/stepwell-cli.mjs');
const home = freshFolder();
const project = freshFolder();
const settings = join(home, 'worker.json');
const file = join(home, 'begun');

/** Two waits of each run, after which another process may continue it: a sleep, and a signal before or after its wait. */
const code = `
import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { defineWorkflow } from 'stepwell/sdk';
export const shared = defineWorkflow({ name: 'shared' }, async ({ input, step }) => {
  const body = (name) => step.run({ name }, async () => {
    appendFileSync(input.file, [input.n, name, process.pid].join(' ') + '\\n');
    await wait(input.stepMs);
    return process.pid;
  });
  const alone = async (names) => {
    const pids = [];
    for (const name of names) pids.push(await body(name));
    return pids;
  };
  const done = await alone(['a', 'b', 'c']);
  await step.sleep('nap', '200ms');
  done.push(...await Promise.all(['p', 'q', 'r'].map(body)));
  const answer = await step.waitForSignal({ signal: 'proceed' });
  done.push(...await alone(['d', 'e']));
  return { done, answered: answer.data };
});
`;
const names = ['a', 'b', 'c', 'p', 'q', 'r', 'd', 'e'];
/** of the function; fewer than runs, so that the worker gets some */
const threads = 2;
const together = 8;
/** of the worker: the maximum of concurrent runs, and of concurrent step functions per run */
const concurrency = 3;
const widest = 3;

let cloud: InProcessCloud;
let worker: ChildProcess | undefined;
const environment = () => ({ ...process.env, HOME: home, STEPWELL_URL: cloud.url, STEPWELL_API_KEY: cloud.apiKey });

beforeAll(async () => {
  cloud = await startInProcessCloud({ 'stepwell:codeRunsIn': 'both' }, undefined, threads);
  writeFileSync(settings, JSON.stringify(cloud.cloud.worker));
  mkdirSync(join(project, 'workflows'));
  writeFileSync(join(project, 'stepwell.config.json'), JSON.stringify({ worker: { concurrency } }));
  writeFileSync(join(project, 'workflows/all.ts'), code);
  await promisify(execFile)(process.execPath, [program, 'deploy'], { cwd: project, env: environment() });
});
afterAll(async () => {
  await kill();
  await cloud.stop();
});

async function kill(): Promise<void> {
  if (worker === undefined || worker.exitCode !== null || worker.signalCode !== null) return;
  const gone = once(worker, 'exit');
  worker.kill('SIGKILL');
  await gone;
}

async function startWorker(): Promise<number> {
  const child = spawn(
    process.execPath,
    [program, 'worker', 'start', '--settings', settings, '--visibility-timeout-seconds', '3'],
    {
      cwd: project,
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  worker = child;
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await expect.poll(() => said, { timeout: 30_000, interval: 30 }).toContain('taking messages for code');
  return child.pid ?? 0;
}

const runShape = z.looseObject({
  status: z.string(),
  output: z.object({ done: z.array(z.int()), answered: z.int() }).nullish(),
  nodes: z.array(z.looseObject({ nodeId: z.string(), status: z.string(), attempt: z.int() })),
});
type Run = z.output<typeof runShape>;

async function when(id: string, holds: (found: Run) => boolean): Promise<Run> {
  for (;;) {
    const found = runShape.parse((await cloud.call('GET', `/v1/runs/${id}`)).body);
    if (holds(found)) return found;
    await wait(250);
  }
}

async function start(n: number): Promise<string> {
  const body = { workflowName: 'shared', input: { n, file, stepMs: 100 } };
  const started = await cloud.call('POST', '/v1/runs', body, { 'idempotency-key': `start-${n}` });
  expect(started.status, JSON.stringify(started.body)).toBe(202);
  return z.looseObject({ runId: z.string() }).parse(started.body).runId;
}

/** Every other signal is sent before its run waits for it. */
async function proceed(id: string, n: number): Promise<void> {
  if (n % 2 === 0)
    await when(id, ({ nodes }) => nodes.some(({ nodeId, status }) => nodeId === 'proceed' && status === 'waiting'));
  expect((await cloud.call('POST', `/v1/runs/${id}/signals`, { name: 'proceed', payload: n })).status).toBe(202);
}

/** Which process started which step function of which run, in order. */
const begun = () =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const [n, name, pid] = line.split(' ');
      return { n: Number(n), name, pid: Number(pid) };
    });

test('the function completes the runs of a killed worker, and neither repeats the other’s completed steps', async () => {
  writeFileSync(file, '');
  const workerPid = await startWorker();
  const ids = await Promise.all(Array.from({ length: together }, (_, n) => start(n)));
  const proceeding = ids.map((id, n) => proceed(id, n));
  // The worker has started many steps, and some are running.
  await expect
    .poll(() => begun().filter(({ pid }) => pid === workerPid).length, { timeout: 30_000, interval: 20 })
    .toBeGreaterThan(8);
  await kill();
  await Promise.all(proceeding);
  const runs = await Promise.all(ids.map((id) => when(id, ({ status }) => status !== 'pending' && status !== 'running')));

  const lines = begun();
  let again = 0;
  for (const [n, { status, output, nodes }] of runs.entries()) {
    expect([n, status, output?.answered]).toEqual([n, 'completed', n]);
    expect(output?.done).toHaveLength(names.length);
    for (const [at, name] of names.entries()) {
      const own = lines.filter((line) => line.n === n && line.name === name);
      const attempt = nodes.find(({ nodeId }) => nodeId === name)?.attempt ?? 0;
      const told = `${name} of run ${n}: ${JSON.stringify(own)}`;
      // A step function that was requested and not started before the kill is an attempt without an effect.
      expect(own.length, told).toBeGreaterThan(0);
      expect(own.length, told).toBeLessThanOrEqual(attempt);
      // Only unfinished steps of the killed worker run in the function, and the last start counts.
      expect(
        own.slice(0, -1).every(({ pid }) => pid === workerPid),
        told,
      ).toBe(true);
      expect(own.at(-1)?.pid).toBe(output?.done[at]);
      again += attempt - 1;
    }
  }
  expect(again).toBeLessThanOrEqual(concurrency * widest);
  // Both processes executed steps, and of at least one common run.
  const pids = runs.map(({ output }) => new Set(output?.done));
  expect(new Set(pids.flatMap((each) => [...each]))).toEqual(new Set([workerPid, process.pid]));
  expect(pids.some(({ size }) => size === 2)).toBe(true);
});
