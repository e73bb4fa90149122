/** Reruns of code runs from a step: the copied log, refusals, large logs, and crashes at every port call. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { deploymentId, nodeKey, runId, topLevel, workflowName } from '../../lib/engine/ids.ts';
import { stepNodeId } from '../../lib/engine/durable/step.ts';
import { isTerminal } from '../../lib/engine/log/fold.ts';
import { rerunFrom, rerunOf } from '../../lib/engine/log/lineage.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import type { RunAddress } from '../../lib/engine/ids.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { maxCopiedValues } from '../../lib/service/kinds/code/rerun-code-run.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { loadPayload } from '../../lib/service/run-log/payloads.ts';
import { type RerunRequest, rerunRun } from '../../lib/service/runs/rerun-run.ts';
import type { JobHandler } from '../../lib/service/worker.ts';
import { codeManifest, commitsOf, deploy, startCodeRun, statusOf } from './code-test-env.ts';
import { type CrashPoint, CrashableProcesses, survives } from './crashable-processes.ts';
import { type ScriptStage, functionCommand } from './scripted-programs.ts';
import { type TestEnv, createTestEnv, scope } from './test-env.ts';

/** Text that does not compress. */
const noise = (length: number, seed = ''): string =>
  Array.from({ length: Math.ceil(length / 44) }, (_, index) => createHash('sha256').update(`${seed}${index}`).digest('base64'))
    .join('')
    .slice(0, length);

interface Failed {
  readonly env: TestEnv;
  readonly run: RunAddress;
  /** the step functions that ran since */
  readonly ran: () => readonly string[];
  readonly rerun: (more: Partial<RerunRequest>, worker?: JobHandler) => ReturnType<typeof rerunRun>;
}

/** A run of these stages whose step `bad` fails the first time. */
async function failedRun(
  stages: readonly ScriptStage[],
  valueOf: (key: string) => string = (key) => `${key} done`,
): Promise<Failed> {
  let isMended = false;
  const { env, run, code } = await startCodeRun(stages, {
    stepFunction: (key) => {
      if (key !== 'bad' || isMended) return valueOf(key);
      // The steps beside it end first.
      return new Promise((_resolve, reject) => setImmediate(() => reject(new Error('bad'))));
    },
  });
  await env.settle();
  expect(await statusOf(env, run)).toBe('failed');
  isMended = true;
  const before = code.startedSteps.length;
  return {
    env,
    run,
    ran: () => code.startedSteps.slice(before),
    rerun: (more, worker = env.worker) => rerunRun(worker, { sourceRun: run, idempotencyKey: 'r1', bodyHash: 'h', ...more }),
  };
}

async function addressOf(result: ReturnType<typeof rerunRun>): Promise<RunAddress> {
  const answer = await result;
  if (answer.kind !== 'started') throw new Error(answer.kind);
  return { ...scope, runId: answer.runId };
}

async function outputOf({ env }: Failed, run: RunAddress, key: string) {
  const node = (await env.fold(run)).state.nodes.get(nodeKey({ nodeId: stepNodeId(key), iteration: topLevel }));
  return node?.status === 'completed' ? node.output : undefined;
}

const chain: readonly ScriptStage[] = [[functionCommand('charge card')], [functionCommand('bad')], [functionCommand('end')]];

describe('a rerun of a code run from a step', () => {
  test('keeps the results before the step and names the earlier run and the step', async () => {
    const failed = await failedRun(chain);
    const run = await addressOf(failed.rerun({ from: 'bad' }));
    await failed.env.settle();
    expect(await statusOf(failed.env, run)).toBe('completed');
    expect(failed.ran()).toEqual(['bad#1', 'end#1']);
    const { head } = await failed.env.fold(run);
    expect([rerunOf(head), rerunFrom(head)]).toEqual([failed.run.runId, 'bad']);
  });

  test('takes steps by key or node id, and replaces results', async () => {
    const failed = await failedRun(chain);
    const one = await addressOf(failed.rerun({ from: 'bad', results: { 'charge card': { id: 'ch_1' } } }));
    const other = await addressOf(failed.rerun({ from: 'charge.x20.card', idempotencyKey: 'r2' }));
    expect(await outputOf(failed, one, 'charge card')).toEqual({ value: { id: 'ch_1' } });
    expect(await outputOf(failed, other, 'charge card')).toBeUndefined();
  });

  test('has the input null if the request says null', async () => {
    const failed = await failedRun(chain);
    const run = await addressOf(failed.rerun({ from: 'bad', input: null }));
    const [first] = await commitsOf(failed.env, run);
    expect(first?.events.find(({ type }) => type === 'INPUT_SET')).toMatchObject({ input: { value: null } });
  });

  test('runs on another deployment, which stays pinned while it is open', async () => {
    const failed = await failedRun(chain);
    await deploy(failed.env, codeManifest('v2'));
    expect(await failed.rerun({ from: 'bad', deploymentId: deploymentId('v2') })).toMatchObject({ deploymentId: 'v2' });
    expect(await failed.env.ports.deployments.pinnedRuns(scope, deploymentId('v2'), 5)).toHaveLength(1);
  });

  test('copies large values, because each value expires with its run', async () => {
    const large = noise(60_000);
    const failed = await failedRun([[functionCommand('a')], [functionCommand('bad')]], () => large);
    const run = await addressOf(failed.rerun({ from: 'bad' }));
    const output = await outputOf(failed, run, 'a');
    if (output === undefined || !('ref' in output)) throw new Error('the value is inline');
    expect(output.ref).toContain(`~code/${run.runId}/`);
    expect(await loadPayload(failed.env.deps, run, output.ref)).toBe(large);
  });

  test('copies a log of thousands of steps in a few commits, and continues it', { timeout: 60_000 }, async () => {
    const keys = Array.from({ length: 2_000 }, (_, index) => `s${index}`);
    const failed = await failedRun([keys.map((key) => functionCommand(key)), [functionCommand('bad')]]);
    const run = await addressOf(failed.rerun({ from: 'bad' }));
    const commits = await commitsOf(failed.env, run);
    expect(commits.length).toBeGreaterThan(2);
    expect(commits.length).toBeLessThan(10);
    expect(commits.flatMap(({ events }) => events.filter(({ type }) => type === 'NODE_COMPLETED'))).toHaveLength(2_000);
    await failed.env.settle();
    expect(await statusOf(failed.env, run)).toBe('completed');
    expect(failed.ran()).toEqual(['bad#1']);
  });

  test('with the same key is one run', async () => {
    const failed = await failedRun(chain);
    const answers = await Promise.all(Array.from({ length: 10 }, () => failed.rerun({ from: 'bad' })));
    expect(new Set(answers.map((answer) => (answer.kind === 'started' ? answer.runId : answer.kind))).size).toBe(1);
    await failed.env.settle();
    expect(failed.ran()).toEqual(['bad#1', 'end#1']);
  });
});

describe('a rerun from a step is refused', () => {
  test('for a step that never began, and for results that are not kept', async () => {
    const { rerun } = await failedRun(chain);
    expect(await rerun({ from: 'end' })).toEqual({ kind: 'step_not_found', step: 'end' });
    expect(await rerun({ from: 'bad', results: { end: 1 } })).toEqual({ kind: 'results_not_kept', steps: ['end'] });
    expect(await rerun({ results: { bad: 1 } })).toEqual({ kind: 'results_not_kept', steps: ['bad'] });
  });

  test('while the run is open, because its steps can still change', async () => {
    const { env, run } = await startCodeRun([
      [functionCommand('a')],
      [{ kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1' }],
    ]);
    await env.settle();
    const request = { sourceRun: run, idempotencyKey: 'r1', bodyHash: 'h' };
    expect(await rerunRun(env.worker, { ...request, from: 'paid' })).toEqual({ kind: 'run_open' });
    expect(await rerunRun(env.worker, request)).toMatchObject({ kind: 'started' });
  });

  test('if the run rolled back a kept step, unless its result is replaced', async () => {
    const { rerun } = await failedRun([[functionCommand('pay', { hasRollback: true })], [functionCommand('bad')]]);
    expect(await rerun({ from: 'bad' })).toEqual({ kind: 'step_rolled_back', step: 'pay' });
    expect(await rerun({ from: 'bad', results: { pay: 'by hand' } })).toMatchObject({ kind: 'started' });
  });

  test('if the run does not exist or has expired, or its workflow is not in the deployment', async () => {
    const { env, rerun } = await failedRun(chain);
    await deploy(env, codeManifest('v2', [{ name: 'other' }]));
    expect(await rerun({ from: 'bad', deploymentId: deploymentId('v2') })).toMatchObject({ kind: 'workflow_not_found' });
    const sourceRun = { ...scope, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') };
    expect(await rerun({ from: 'bad', sourceRun })).toEqual({ kind: 'not_found' });
    env.ports.clock.advance(days(400));
    expect(await rerun({ from: 'bad' })).toEqual({ kind: 'not_found' });
  });

  test('if it would copy too many large values', { timeout: 60_000 }, async () => {
    const keys = Array.from({ length: maxCopiedValues + 1 }, (_, index) => `s${index}`);
    const large = noise(20_000);
    const { rerun } = await failedRun([keys.map((key) => functionCommand(key)), [functionCommand('bad')]], () => large);
    expect(await rerun({ from: 'bad' })).toMatchObject({ kind: 'too_many_values', limit: maxCopiedValues });
  });
});

const startAt = createTestEnv().ports.clock.now();
const goods = Array.from({ length: 20 }, (_, index) => `good${index}`);
const crashStages: readonly ScriptStage[] = [
  [functionCommand('large')],
  [
    functionCommand('bad'),
    { kind: 'sleep', key: 'nap', wakeAt: after(startAt, minutes(5)) },
    { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '1', expiresAt: after(startAt, minutes(9)) },
    ...goods.map((key) => functionCommand(key)),
  ],
  [functionCommand('end')],
];

/** Each message is processed by a separate process. A crashed process leaves its message to redelivery. */
async function work(env: TestEnv, workerFor: () => JobHandler): Promise<void> {
  const { jobs, timers, clock } = env.ports;
  const undone: Job[] = [];
  for (let round = 0; round < 60; round += 1) {
    const back = undone.splice(0);
    const fresh = [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue(), ...timers.takeDue().map(({ job }) => job)];
    const messages = [
      ...back.map((job) => ({ job, isRedelivered: true })),
      ...fresh.map((job) => ({ job, isRedelivered: false })),
    ];
    for (const { job, isRedelivered } of messages)
      if (!(await survives(env.take(job, { isRedelivered, worker: workerFor() })))) undone.push(job);
    if (messages.length > 0) continue;
    const next = Math.min(...jobs.delayed.map(({ dueAt }) => dueAt));
    if (!Number.isFinite(next) || next > clock.now() + minutes(10)) return;
    clock.advance(minutes(1));
  }
}

async function playedWithCrash(aim: CrashPoint | undefined) {
  const failed = await failedRun(crashStages, (key) => (key === 'large' ? noise(60_000) : noise(7_500, key)));
  const { env } = failed;
  const processes = new CrashableProcesses(env.deps, aim);
  const worker = (deps: Deps = processes.start()): JobHandler => ({ ...env.worker, deps, foldCache: new FoldCache() });
  const request = (by: JobHandler) => failed.rerun({ from: 'bad' }, by);
  if (!(await survives(request(worker())))) await request(worker(env.deps));
  const { calls } = processes;
  const run = await addressOf(request(worker(env.deps)));
  await work(env, () => worker());
  for (let round = 0; round < 6; round += 1) {
    env.ports.clock.advance(minutes(3));
    await sweepRuns(worker(env.deps), after(env.ports.clock.now(), minutes(1)));
    await work(env, () => worker(env.deps));
  }
  const events = (await commitsOf(env, run)).flatMap((commit) => commit.events);
  const completed = events.flatMap((event) =>
    event.type === 'NODE_COMPLETED' && !event.nodeId.startsWith('.') ? [event.nodeId] : [],
  );
  return { calls, totalCalls: processes.calls, completed: completed.toSorted(), failed, run };
}

test('a rerun from a step ends after a crash at any call, with one completion of each step', { timeout: 120_000 }, async () => {
  const expected = crashStages
    .flat()
    .map(({ key }) => key)
    .toSorted();
  const { calls, totalCalls, completed, failed: whole, run: first } = await playedWithCrash(undefined);
  expect(completed).toEqual(expected);
  expect(whole.ran().toSorted()).toEqual(['bad#1', 'end#1']);
  expect((await commitsOf(whole.env, first)).slice(0, 3).map(({ events }) => events.length)).toEqual([
    6,
    expect.any(Number),
    expect.any(Number),
  ]);
  expect(calls).toBeGreaterThan(15);
  for (let call = 1; call <= totalCalls; call += 1) {
    for (const kind of ['before', 'after'] as const) {
      const where = `${kind} call ${call}`;
      const { completed: found, failed, run } = await playedWithCrash({ call, kind });
      expect(found, where).toEqual(expected);
      const { state } = await failed.env.fold(run);
      expect(isTerminal(state.progress) && state.progress.status, where).toBe('completed');
      expect(await failed.env.ports.deployments.pinnedRuns(scope, codeManifest('v1').deploymentId, 5), where).toEqual([]);
    }
  }
});

test('a start after a refused rerun may use its key', async () => {
  const failed = await failedRun(chain);
  expect(await failed.rerun({ from: 'end' })).toMatchObject({ kind: 'step_not_found' });
  expect(await failed.rerun({ from: 'bad', bodyHash: 'h2' })).toMatchObject({ kind: 'started' });
  expect(await failed.env.start({ workflowName: workflowName('order') })).toMatchObject({ kind: 'started' });
});
