/** Many called runs that end at once: their caller is told by collectors, of up to ten in one commit, whoever dies meanwhile. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { Job, ResultMessage } from '../../lib/ports/jobs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { type RunResults, byRun } from '../../lib/service/execution/collect-results.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { codeManifest, deploy } from './code-test-env.ts';
import { type TestEnv, finished, createTestEnv, scope, workflow } from './test-env.ts';
import { CrashableProcesses, survives } from './crashable-processes.ts';
import { ScriptedPrograms } from './scripted-programs.ts';

const kinds = ['a graph', 'code'] as const;
type Kind = (typeof kinds)[number];

/** A caller of `calls` runs of the graph `child` at once, begun and not yet looked at. */
async function calling(
  kind: Kind,
  calls: number,
  options: Parameters<typeof createTestEnv>[0] = {},
): Promise<[TestEnv, RunAddress]> {
  const keys = Array.from({ length: calls }, (_, at) => `k${at}`);
  const stage = keys.map((key) => ({ kind: 'workflow' as const, key, workflowName: 'child', input: {} }));
  const home: TestEnv = createTestEnv({ ...options, programs: new ScriptedPrograms(() => home.ports.clock, [stage]) });
  await home.publish(workflow('child', 'x>e'));
  if (kind === 'code') await deploy(home, codeManifest('v1'));
  const config = Object.fromEntries(keys.map((key) => [key, { calls: 'child' }]));
  await home.publish(workflow('flow', keys.map((key) => `a>${key} ${key}>d`).join(' '), config));
  return [home, await home.begin(kind === 'code' ? 'order' : 'flow')];
}

const isChildJob = (job: Job): boolean => job.kind === 'child';
const isResult = (message: Job | RunResults): message is RunResults => 'results' in message;

/** As the queue gives them: ten of a run at once. */
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

/** Takes what is there until nothing is. @param holds keeps what it says from being taken */
async function work(home: TestEnv, holds: (message: Job | RunResults) => boolean = () => false): Promise<(Job | RunResults)[]> {
  const held: (Job | RunResults)[] = [];
  for (let taken = takeAll(home); taken.length > 0; taken = takeAll(home)) {
    for (const message of taken) {
      if (holds(message)) held.push(message);
      else if (isResult(message)) await home.collect([message]);
      else await home.take(message);
    }
  }
  return held;
}

const statusOf = async (home: TestEnv, run: RunAddress) => (await home.fold(run)).state.progress.status;
const commitsOf = async ({ ports }: TestEnv, run: RunAddress) => (await ports.log.commitsAfter(run, firstCommit)).length;
const completionsOf = async ({ ports }: TestEnv, run: RunAddress) =>
  (await ports.log.commitsAfter(run, firstCommit)).flatMap(({ events }) =>
    events.flatMap((event) => (event.type === 'NODE_COMPLETED' && event.nodeId.startsWith('k') ? [event.nodeId] : [])),
  );

/** To where each of the called runs has ended and nobody has told their caller; with the messages that ask for it. */
async function ended(kind: Kind, calls: number): Promise<{ home: TestEnv; run: RunAddress; ends: readonly Job[] }> {
  const [home, run] = await calling(kind, calls);
  const making = await work(home, (message) => !isResult(message) && isChildJob(message));
  for (const message of making) if (!isResult(message)) await home.take(message);
  const ends = await work(home, (message) => !isResult(message) && isChildJob(message));
  return { home, run, ends: ends.flatMap((message) => (isResult(message) ? [] : [message])) };
}

describe.each(kinds)('of a caller that is %s', (kind) => {
  test('two hundred ends are told in a tenth as many commits', async () => {
    const { home, run, ends } = await ended(kind, 200);
    expect(ends).toHaveLength(200);
    const before = await commitsOf(home, run);
    for (const job of ends) await home.take(job);
    await work(home);
    expect(await statusOf(home, run)).toBe('completed');
    expect(new Set(await completionsOf(home, run)).size).toBe(200);
    // Twenty batches, and what the caller goes on with; of a drive that is asked for by each, only the first is.
    expect((await commitsOf(home, run)) - before).toBeLessThan(25);
  });

  test('the ends of eight go without the collector', async () => {
    const { home, run, ends } = await ended(kind, 8);
    for (const job of ends) await home.take(job);
    expect(home.ports.jobs.results).toEqual([]);
    await work(home);
    expect(await statusOf(home, run)).toBe('completed');
  });

  test('an end that is collected twice, or of a caller that is cancelled meanwhile, changes nothing', async () => {
    const { home, run, ends } = await ended(kind, 12);
    for (const job of ends) await home.take(job);
    const results = [...home.ports.jobs.takeResults()];
    expect(results).toHaveLength(12);
    await home.collect(batched(results.slice(0, 5)));
    const commits = await commitsOf(home, run);
    await home.collect(batched(results.slice(0, 5)));
    await home.collect(batched(results.slice(0, 5), true));
    expect(await commitsOf(home, run)).toBe(commits);
    await cancelRun(home.worker, run);
    const atEnd = await commitsOf(home, run);
    await home.collect(batched(results));
    expect([await statusOf(home, run), await commitsOf(home, run)]).toEqual(['cancelled', atEnd]);
  });

  test('a crash before or after any call on the way from the ends to the caller loses none of them and tells none twice', async () => {
    const play = async (aim?: ConstructorParameters<typeof CrashableProcesses>[1]): Promise<number> => {
      const { home, run, ends } = await ended(kind, 11);
      const processes = new CrashableProcesses(home.deps, aim);
      const own = (deps: Deps) => ({ ...home.worker, deps, foldCache: new FoldCache() });
      const take = (message: Job | RunResults, isRedelivered = false): Promise<void> => {
        const worker = own(processes.start());
        if (!isResult(message)) return home.take(message, { isRedelivered, worker });
        return home.collect([{ ...message, isRedelivered }], worker);
      };
      const back: (Job | RunResults)[] = [];
      for (let taken: readonly (Job | RunResults)[] = ends; taken.length > 0; taken = takeAll(home))
        for (const message of taken) if (!(await survives(take(message)))) back.push(message);
      const { calls } = processes;
      for (const message of back) await take(message, true);
      await work(home);
      for (let round = 0; round < 3 && (await statusOf(home, run)) !== 'completed'; round += 1) {
        home.ports.clock.advance(minutes(3));
        await sweepRuns(home.worker, after(home.ports.clock.now(), minutes(1)));
        await work(home);
      }
      const seen = JSON.stringify(aim);
      expect(await statusOf(home, run), seen).toBe('completed');
      expect((await completionsOf(home, run)).toSorted(), seen).toEqual(
        Array.from({ length: 11 }, (_, at) => `k${at}`).toSorted(),
      );
      return calls;
    };
    const calls = await play();
    expect(calls).toBeGreaterThan(40);
    for (let call = 1; call <= calls; call += 1)
      for (const kindOfCrash of ['before', 'after'] as const) await play({ call, kind: kindOfCrash });
  });
});

test('runs that failed and runs that are forgotten are told as they are', async () => {
  const answers: Parameters<typeof createTestEnv>[0] = {
    answer: (node) => (node === 'x' ? { kind: 'failed', failure: { cause: 'invalid', message: 'no' } } : finished(node)),
  };
  const [home, run] = await calling('a graph', 10, answers);
  const results = await work(home, isResult);
  expect(results.flatMap((message) => (isResult(message) ? message.results : []))).toHaveLength(10);
  const [first] = results.flatMap((message) => (isResult(message) ? message.results : []));
  if (first === undefined || !('childRunId' in first)) throw new Error('no run has ended');
  const { head } = await home.fold({ ...scope, runId: first.childRunId });
  await home.ports.log.deleteRun(head.address, head.expiresAt);
  for (const message of results) if (isResult(message)) await home.collect([message]);
  const told = (await home.ports.log.commitsAfter(run, firstCommit)).flatMap(({ events }) => events);
  const failed = told.filter(({ type }) => type === 'NODE_FAILED' || type === 'NODE_RETRIED');
  expect(failed).toHaveLength(9);
  for (const event of failed) expect(event).toMatchObject({ failure: { code: 'subflow_failed' } });
});
