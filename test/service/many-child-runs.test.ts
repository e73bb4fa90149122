/** Many child runs that end at once: collectors commit up to ten ends in one commit, at any crash point. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { Job, ResultMessage } from '../../lib/ports/jobs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { type RunResults, byRun } from '../../lib/service/execution/collect-results.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { inTier } from '../tier.ts';
import { codeManifest, deploy } from './code-test-env.ts';
import { type TestEnv, finished, createTestEnv, scope, workflow } from './test-env.ts';
import { CrashableProcesses, survives } from './crashable-processes.ts';
import { ScriptedPrograms } from './scripted-programs.ts';

const kinds = ['a graph', 'code'] as const;
type Kind = (typeof kinds)[number];

/** A caller of `calls` parallel runs of the graph `child`, started and not yet processed. */
async function calling(
  kind: Kind,
  calls: number,
  options: Parameters<typeof createTestEnv>[0] = {},
): Promise<[TestEnv, RunAddress]> {
  const keys = Array.from({ length: calls }, (_, at) => `k${at}`);
  const stage = keys.map((key) => ({ kind: 'workflow' as const, key, workflowName: 'child', input: {} }));
  const env: TestEnv = createTestEnv({ ...options, programs: new ScriptedPrograms(() => env.ports.clock, [stage]) });
  await env.publish(workflow('child', 'x>e'));
  if (kind === 'code') await deploy(env, codeManifest('v1'));
  const config = Object.fromEntries(keys.map((key) => [key, { calls: 'child' }]));
  await env.publish(workflow('flow', keys.map((key) => `a>${key} ${key}>d`).join(' '), config));
  return [env, await env.begin(kind === 'code' ? 'order' : 'flow')];
}

const isChildJob = (job: Job): boolean => job.kind === 'child';
const isResult = (message: Job | RunResults): message is RunResults => 'results' in message;

/** As the queue delivers them: ten results of a run at once. */
function batched(results: readonly ResultMessage[], isRedelivered = false): readonly RunResults[] {
  const batches = Array.from({ length: Math.ceil(results.length / 10) }, (_, at) => results.slice(at * 10, at * 10 + 10));
  return batches.flatMap((batch) => byRun(batch.map((result) => ({ result, isRedelivered }))));
}

const takeAll = ({ ports: { jobs } }: TestEnv): readonly (Job | RunResults)[] => [
  ...jobs.takeSent(),
  ...jobs.takeMessages(),
  ...jobs.takeDue().filter(({ kind }) => kind !== 'recheck'),
  ...batched(jobs.takeResults()),
];

/** Processes messages until none remains. @param holds selects messages that stay in the queue */
async function work(env: TestEnv, holds: (message: Job | RunResults) => boolean = () => false): Promise<(Job | RunResults)[]> {
  const held: (Job | RunResults)[] = [];
  for (let taken = takeAll(env); taken.length > 0; taken = takeAll(env)) {
    for (const message of taken) {
      if (holds(message)) held.push(message);
      else if (isResult(message)) await env.collect([message]);
      else await env.take(message);
    }
  }
  return held;
}

const statusOf = async (env: TestEnv, run: RunAddress) => (await env.fold(run)).state.progress.status;
const commitsOf = async ({ ports }: TestEnv, run: RunAddress) => (await ports.log.commitsAfter(run, firstCommit)).length;
const completionsOf = async ({ ports }: TestEnv, run: RunAddress) =>
  (await ports.log.commitsAfter(run, firstCommit)).flatMap(({ events }) =>
    events.flatMap((event) => (event.type === 'NODE_COMPLETED' && event.nodeId.startsWith('k') ? [event.nodeId] : [])),
  );

/** Runs until each child run has ended and the caller has no end yet. @returns the pending messages with the ends */
async function ended(kind: Kind, calls: number): Promise<{ env: TestEnv; run: RunAddress; ends: readonly Job[] }> {
  const [env, run] = await calling(kind, calls);
  const making = await work(env, (message) => !isResult(message) && isChildJob(message));
  for (const message of making) if (!isResult(message)) await env.take(message);
  const ends = await work(env, (message) => !isResult(message) && isChildJob(message));
  return { env, run, ends: ends.flatMap((message) => (isResult(message) ? [] : [message])) };
}

describe.each(kinds)('of a caller that is %s', (kind) => {
  test('two hundred ends take a tenth as many commits', async () => {
    const { env, run, ends } = await ended(kind, 200);
    expect(ends).toHaveLength(200);
    const before = await commitsOf(env, run);
    for (const job of ends) await env.take(job);
    await work(env);
    expect(await statusOf(env, run)).toBe('completed');
    expect(new Set(await completionsOf(env, run)).size).toBe(200);
    // Twenty batches, and the commits with which the caller continues. Each batch requests a workflow task; only the first dispatches one.
    expect((await commitsOf(env, run)) - before).toBeLessThan(25);
  });

  test('eight ends do not use the collector', async () => {
    const { env, run, ends } = await ended(kind, 8);
    for (const job of ends) await env.take(job);
    expect(env.ports.jobs.results).toEqual([]);
    await work(env);
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a duplicate end, or an end for a cancelled caller, changes nothing', async () => {
    const { env, run, ends } = await ended(kind, 12);
    for (const job of ends) await env.take(job);
    const results = [...env.ports.jobs.takeResults()];
    expect(results).toHaveLength(12);
    await env.collect(batched(results.slice(0, 5)));
    const commits = await commitsOf(env, run);
    await env.collect(batched(results.slice(0, 5)));
    await env.collect(batched(results.slice(0, 5), true));
    expect(await commitsOf(env, run)).toBe(commits);
    await cancelRun(env.worker, run);
    const atEnd = await commitsOf(env, run);
    await env.collect(batched(results));
    expect([await statusOf(env, run), await commitsOf(env, run)]).toEqual(['cancelled', atEnd]);
  });

  const everyCall = inTier({ quick: 5, deep: 1 });
  test(`a crash at any call between the ends and the caller loses no end and commits none twice: one of ${everyCall}`, async () => {
    const play = async (aim?: ConstructorParameters<typeof CrashableProcesses>[1]): Promise<number> => {
      const { env, run, ends } = await ended(kind, 11);
      const processes = new CrashableProcesses(env.deps, aim);
      const own = (deps: Deps) => ({ ...env.worker, deps, foldCache: new FoldCache() });
      const take = (message: Job | RunResults, isRedelivered = false): Promise<void> => {
        const worker = own(processes.start());
        if (!isResult(message)) return env.take(message, { isRedelivered, worker });
        return env.collect([{ ...message, isRedelivered }], worker);
      };
      const back: (Job | RunResults)[] = [];
      for (let taken: readonly (Job | RunResults)[] = ends; taken.length > 0; taken = takeAll(env))
        for (const message of taken) if (!(await survives(take(message)))) back.push(message);
      const { calls } = processes;
      for (const message of back) await take(message, true);
      await work(env);
      for (let round = 0; round < 3 && (await statusOf(env, run)) !== 'completed'; round += 1) {
        env.ports.clock.advance(minutes(3));
        await sweepRuns(env.worker, after(env.ports.clock.now(), minutes(1)));
        await work(env);
      }
      const seen = JSON.stringify(aim);
      expect(await statusOf(env, run), seen).toBe('completed');
      expect((await completionsOf(env, run)).toSorted(), seen).toEqual(
        Array.from({ length: 11 }, (_, at) => `k${at}`).toSorted(),
      );
      return calls;
    };
    const calls = await play();
    expect(calls).toBeGreaterThan(40);
    for (let call = 1; call <= calls; call += everyCall)
      for (const kindOfCrash of ['before', 'after'] as const) await play({ call, kind: kindOfCrash });
  });
});

test('failed and deleted child runs are reported as such', async () => {
  const answers: Parameters<typeof createTestEnv>[0] = {
    answer: (node) => (node === 'x' ? { kind: 'failed', failure: { cause: 'invalid', message: 'no' } } : finished(node)),
  };
  const [env, run] = await calling('a graph', 10, answers);
  const results = await work(env, isResult);
  expect(results.flatMap((message) => (isResult(message) ? message.results : []))).toHaveLength(10);
  const [first] = results.flatMap((message) => (isResult(message) ? message.results : []));
  if (first === undefined || !('childRunId' in first)) throw new Error('no run has ended');
  const { head } = await env.fold({ ...scope, runId: first.childRunId });
  await env.ports.log.deleteRun(head.address, head.expiresAt);
  for (const message of results) if (isResult(message)) await env.collect([message]);
  const committed = (await env.ports.log.commitsAfter(run, firstCommit)).flatMap(({ events }) => events);
  const failed = committed.filter(({ type }) => type === 'NODE_FAILED' || type === 'NODE_RETRIED');
  expect(failed).toHaveLength(9);
  for (const event of failed) expect(event).toMatchObject({ failure: { code: 'subflow_failed' } });
});
