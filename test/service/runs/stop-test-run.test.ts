/** Stopping a test run deletes all its data, even after a crash and with workers that still process the run. */
import { describe, expect, it } from 'vitest';
import { type RunAddress, environment, firstCommit } from '../../../lib/engine/ids.ts';
import { isTestRun } from '../../../lib/engine/log/head.ts';
import { isTombstone } from '../../../lib/engine/log/commit.ts';
import { after, hours } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { DueEntry } from '../../../lib/ports/run-index.ts';
import type { Job } from '../../../lib/ports/jobs.ts';
import { getRun } from '../../../lib/service/runs/get-run.ts';
import { listEvents } from '../../../lib/service/runs/list-events.ts';
import { sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { stopTestRun } from '../../../lib/service/runs/stop-test-run.ts';
import { FoldCache } from '../../../lib/service/run-log/fold-cache.ts';
import { type TestEnv, finished, createTestEnv, scope, workflow } from '../test-env.ts';
import { CrashableProcesses, survives } from '../crashable-processes.ts';
import { overrideMethods } from '../override-methods.ts';
import { blobsOf, definitionOf, largeText, requestTestRun, startTestRun, recordsOf } from '../test-run-fixture.ts';

const signalKey = { name: 'paid', correlation: 'order-7' };

/** A run with data in every store: a large input and output, a wait, a sleep, a child run, due entries, a heartbeat, a snapshot. */
async function rich(env: TestEnv): Promise<RunAddress> {
  await env.publish(workflow('child', 'x>y y>z', { z: { ms: 3_600_000 } }));
  const configs = { s: signalKey, z: { ms: 3_600_000 }, k: { calls: 'child' } };
  const run = await startTestRun(env, definitionOf('draft', 'a>b b>s s>d a>z z>f a>g a>k', configs), {
    input: { text: 'y'.repeat(1_000) },
  });
  for (let round = 0; round < 2; round += 1)
    for (const job of [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()]) await env.take(job);
  const { head, state } = await env.fold(run);
  await env.ports.log.heartbeat(
    run,
    { node: [...state.nodes.keys()][0] ?? neverKey(), at: env.ports.clock.now(), resends: 0 },
    head.expiresAt,
  );
  await env.ports.log.saveSnapshot(run, { asOf: head.commit.number, schema: 0, state: null }, head.expiresAt);
  return run;
}
const neverKey = (): never => {
  throw new Error('the run has no node');
};
const calledBy = async ({ ports }: TestEnv, run: RunAddress): Promise<readonly RunAddress[]> =>
  (await ports.index.list(scope, { limit: 10 })).heads.map(({ address }) => address).filter(({ runId }) => runId !== run.runId);
const newHome = () => createTestEnv({ answer: (node) => (node === 'b' ? finished(largeText) : finished(node)) });

describe('stopping', () => {
  it('knows each due entry of a run, and of the runs that it calls', async () => {
    const marked: DueEntry[] = [];
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (entry) => {
            marked.push(entry);
            await deps.index.markDue(entry);
          },
        }),
      }),
    });
    const run = await rich(env);
    const [child] = await calledBy(env, run);
    const ofTest = marked.filter(({ run: { runId } }) => runId === run.runId || runId === child?.runId);
    expect(new Set(ofTest.map((entry) => entry.run.runId)).size).toBe(2);
    expect(ofTest.filter(({ isRecordedOnRun }) => isRecordedOnRun !== true)).toEqual([]);
  });

  it('deletes the data of a run from every store', async () => {
    const env = newHome();
    const run = await rich(env);
    const blobs = await blobsOf(env, run);
    expect(blobs.length).toBeGreaterThan(0);
    const [child, ...more] = await calledBy(env, run);
    if (child === undefined) throw new Error('no child run was started');
    expect(more).toEqual([]);
    expect(isTestRun((await env.fold(child)).head)).toBe(true);
    expect(await recordsOf(env, child)).not.toEqual([]);
    expect(new Set((await recordsOf(env, run, { blobs, signalKey })).map((what) => what.replace(/ in .*/, '')))).toEqual(
      new Set(['head', 'graph', 'input', 'beats', 'snapshot', 'commits', 'list', 'due', 'blob', 'waiter', 'reservation']),
    );
    expect(await stopTestRun(env.worker, run)).toEqual({ kind: 'stopped' });
    expect(await recordsOf(env, run, { blobs, signalKey })).toEqual([]);
    expect(await getRun(env.worker, run, true)).toEqual({ kind: 'not_found' });
    expect(await listEvents(env.deps, run, { after: 0, limit: 10 })).toEqual({ kind: 'not_found' });
    expect(await stopTestRun(env.worker, run)).toEqual({ kind: 'not_found' });
    expect(await recordsOf(env, child)).toEqual([]);
    expect(env.ports.notices.statusNotices).toEqual([]);
  });

  it('accepts only test runs of this scope', async () => {
    const env = newHome();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    expect(await stopTestRun(env.worker, run)).toEqual({ kind: 'not_a_test_run' });
    expect((await env.fold(run)).state.progress.status).toBe('pending');
    const mine = await rich(env);
    const theirs = { ...mine, environment: environment('elsewhere') };
    expect(await stopTestRun(env.worker, theirs)).toEqual({ kind: 'not_found' });
    expect((await env.fold(mine)).state.progress.status).toBe('running');
  });

  it('deletes ended runs and runs whose first job was never received', async () => {
    const env = newHome();
    const fresh = await startTestRun(env, definitionOf('draft', 'a>b'));
    await stopTestRun(env.worker, fresh);
    expect(await recordsOf(env, fresh)).toEqual([]);
    const ended = await startTestRun(env, definitionOf('draft', 'a>b b>e'));
    await env.settle();
    const blobs = await blobsOf(env, ended);
    await stopTestRun(env.worker, ended);
    expect(await recordsOf(env, ended, { blobs })).toEqual([]);
  });

  it('releases the key: a repeated test request starts a new run', async () => {
    const env = newHome();
    const definition = definitionOf('draft', 'a>b');
    const run = await startTestRun(env, definition);
    await stopTestRun(env.worker, run);
    const again = await requestTestRun(env, definition);
    expect(again).toMatchObject({ kind: 'started', isReplay: false });
    expect(again).not.toMatchObject({ runId: run.runId });
  });

  it('is completed by a repeated request after a crash at any call', async () => {
    const count = async (aim?: ConstructorParameters<typeof CrashableProcesses>[1]): Promise<number> => {
      const env = newHome();
      const run = await rich(env);
      const children = await calledBy(env, run);
      const blobs = await blobsOf(env, run);
      const processes = new CrashableProcesses(env.deps, aim);
      const isDone = await survives(stopTestRun({ ...env.worker, deps: processes.start() }, run));
      if (aim !== undefined) {
        // The remaining data can still be read.
        await getRun(env.worker, run, true).catch((error: unknown) => {
          if (!(error instanceof Unavailable)) throw error;
        });
        const listed = await env.ports.index.list(scope, { limit: 10 });
        expect(listed.heads.length).toBeLessThan(3);
        const wasWhole = (await env.ports.log.head(run)) === undefined;
        expect(await stopTestRun(env.worker, run)).toEqual({ kind: wasWhole ? 'not_found' : 'stopped' });
        // Nothing is left only if the process completed, or crashed after its last call.
        if (isDone) expect(wasWhole).toBe(true);
      }
      expect(await recordsOf(env, run, { blobs, signalKey }), JSON.stringify(aim)).toEqual([]);
      for (const child of children) expect(await recordsOf(env, child), JSON.stringify(aim)).toEqual([]);
      return processes.calls;
    };
    const calls = await count();
    expect(calls).toBeGreaterThan(12);
    for (let call = 1; call <= calls; call += 1) for (const kind of ['before', 'after'] as const) await count({ call, kind });
  });
});

describe('after a test run was stopped', () => {
  it('a worker that completes a node with a large output leaves no data', async () => {
    let stop = async (): Promise<void> => {};
    const env = createTestEnv({
      answer: async (node) => {
        if (node === 'b') await stop();
        return finished(node === 'b' ? largeText : node);
      },
    });
    const run = await startTestRun(env, definitionOf('draft', 'a>b b>d'));
    const put: string[] = [];
    const seen = env.ports.blobs.put.bind(env.ports.blobs);
    env.ports.blobs.put = async (of, name, ...given) => {
      put.push(name);
      return seen(of, name, ...given);
    };
    stop = async () => void (await stopTestRun(env.worker, run));
    await env.settle();
    expect(put).toEqual([]);
    expect(env.attempts).toEqual(['a#1', 'b#1']);
    expect(await recordsOf(env, run)).toEqual([]);
  });

  it('a delayed put finds its commit number occupied', async () => {
    const env = newHome();
    const run = await startTestRun(env, definitionOf('draft', 'a>b b>d'));
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job');
    // The worker has read the log, and the run is stopped before the worker's commit arrives.
    const put = env.ports.log.put.bind(env.ports.log);
    let isStopped = false;
    env.ports.log.put = async (...given) => {
      if (!isStopped) {
        isStopped = true;
        await stopTestRun(env.worker, run);
      }
      return put(...given);
    };
    await env.take(job);
    expect(isStopped).toBe(true);
    expect(env.ports.jobs.takeSent()).toEqual([]);
    expect(await recordsOf(env, run)).toEqual([]);
  });

  it('jobs, wakes, rechecks, results and the sweep change nothing, with a cached fold and without', async () => {
    const env = newHome();
    const definition = definitionOf('draft', 'a>b b>d a>z z>f a>g a>h a>i a>j a>m a>n a>o a>p', { z: { ms: 600_000 } });
    const run = await startTestRun(env, definition);
    const warm = { ...env.worker, foldCache: new FoldCache() };
    const jobs: Job[] = [...env.ports.jobs.takeSent()];
    for (const job of jobs) await env.take(job, { worker: warm });
    const late: Job[] = [...env.ports.jobs.takeSent()];
    const [first] = late;
    if (first !== undefined) await env.take(first, { worker: warm });
    const results = env.ports.jobs.takeResults();
    expect(results).toHaveLength(1);
    await stopTestRun(env.worker, run);
    const before = env.attempts.length;
    env.ports.clock.set(after(env.ports.clock.now(), hours(1)));
    for (const worker of [env.worker, { ...env.worker, foldCache: new FoldCache() }]) {
      for (const job of [...late, ...env.ports.jobs.takeMessages(), ...env.ports.jobs.takeDue()]) {
        await env.take(job, { worker, isRedelivered: true });
      }
    }
    for (const isRedelivered of [false, true]) await env.collect([{ run, results, isRedelivered, isMixed: false }]);
    await sweepRuns(env.worker, after(env.ports.clock.now(), hours(1)));
    expect(env.attempts).toHaveLength(before);
    expect(await recordsOf(env, run)).toEqual([]);
    expect((await env.ports.log.commitsAfter(run, firstCommit)).every(isTombstone)).toBe(true);
  });

  it('a late start with the same key creates no run', async () => {
    const env = newHome();
    const definition = definitionOf('draft', 'a>b');
    const create = env.ports.log.create.bind(env.ports.log);
    let isHeldUp = true;
    env.ports.log.create = async (creation) => {
      if (!isHeldUp) return create(creation);
      isHeldUp = false;
      // Before this request's head arrives, another request with the same key creates the run, and the run is stopped.
      await stopTestRun(env.worker, await startTestRun(env, definition));
      return create(creation);
    };
    const answer = await requestTestRun(env, definition);
    expect(answer).toMatchObject({ kind: 'run_deleted' });
    if (answer.kind !== 'run_deleted') return;
    expect(await env.ports.log.head({ ...scope, runId: answer.runId })).toBeUndefined();
  });
});
