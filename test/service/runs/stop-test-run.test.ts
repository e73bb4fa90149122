/** Stopping a test run: of the run nothing is left, whoever dies on the way, and whoever still holds a part of it. */
import { describe, expect, it } from 'vitest';
import { type RunAddress, environment, firstCommit } from '../../../lib/engine/ids.ts';
import { isTestRun } from '../../../lib/engine/log/head.ts';
import { isTombstone } from '../../../lib/engine/log/tombstone.ts';
import { after, hours } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { Job } from '../../../lib/ports/jobs.ts';
import { getRun } from '../../../lib/service/runs/get-run.ts';
import { listEvents } from '../../../lib/service/runs/list-events.ts';
import { sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { stopTestRun } from '../../../lib/service/runs/stop-test-run.ts';
import { FoldCache } from '../../../lib/service/run-log/fold-cache.ts';
import { type TestEnv, finished, createTestEnv, scope, workflow } from '../test-env.ts';
import { CrashableProcesses, survives } from '../crashable-processes.ts';
import { blobsOf, definitionOf, largeText, requestTestRun, startTestRun, recordsOf } from '../test-run-fixture.ts';

const signalKey = { name: 'paid', correlation: 'order-7' };

/** A run that has left something everywhere: a large input and output, a wait, a nap, a run that it called, due entries, a beat, a snapshot. */
async function rich(home: TestEnv): Promise<RunAddress> {
  await home.publish(workflow('child', 'x>y y>z', { z: { ms: 3_600_000 } }));
  const configs = { s: signalKey, z: { ms: 3_600_000 }, k: { calls: 'child' } };
  const run = await startTestRun(home, definitionOf('draft', 'a>b b>s s>d a>z z>f a>g a>k', configs), {
    input: { text: 'y'.repeat(1_000) },
  });
  for (let round = 0; round < 2; round += 1)
    for (const job of [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeDue()]) await home.take(job);
  const { head, state } = await home.fold(run);
  await home.ports.log.heartbeat(
    run,
    { node: [...state.nodes.keys()][0] ?? neverKey(), at: home.ports.clock.now(), resends: 0 },
    head.expiresAt,
  );
  await home.ports.log.saveSnapshot(run, { asOf: head.commit.number, schema: 0, state: null }, head.expiresAt);
  return run;
}
const neverKey = (): never => {
  throw new Error('the run has no node');
};
const calledBy = async ({ ports }: TestEnv, run: RunAddress): Promise<readonly RunAddress[]> =>
  (await ports.index.list(scope, { limit: 10 })).heads.map(({ address }) => address).filter(({ runId }) => runId !== run.runId);
const newHome = () => createTestEnv({ answer: (node) => (node === 'b' ? finished(largeText) : finished(node)) });

describe('stopping', () => {
  it('leaves no trace of a run that has left some everywhere', async () => {
    const home = newHome();
    const run = await rich(home);
    const blobs = await blobsOf(home, run);
    expect(blobs.length).toBeGreaterThan(0);
    const [child, ...more] = await calledBy(home, run);
    if (child === undefined) throw new Error('nobody was called');
    expect(more).toEqual([]);
    expect(isTestRun((await home.fold(child)).head)).toBe(true);
    expect(await recordsOf(home, child)).not.toEqual([]);
    expect(new Set((await recordsOf(home, run, { blobs, signalKey })).map((what) => what.replace(/ in .*/, '')))).toEqual(
      new Set(['head', 'graph', 'input', 'beats', 'snapshot', 'commits', 'list', 'due', 'blob', 'waiter', 'reservation']),
    );
    expect(await stopTestRun(home.worker, run)).toEqual({ kind: 'stopped' });
    expect(await recordsOf(home, run, { blobs, signalKey })).toEqual([]);
    expect(await getRun(home.worker, run, true)).toEqual({ kind: 'not_found' });
    expect(await listEvents(home.deps, run, { after: 0, limit: 10 })).toEqual({ kind: 'not_found' });
    expect(await stopTestRun(home.worker, run)).toEqual({ kind: 'not_found' });
    expect(await recordsOf(home, child)).toEqual([]);
    expect(home.ports.notices.statusNotices).toEqual([]);
  });

  it('is for test runs alone, of this scope', async () => {
    const home = newHome();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    expect(await stopTestRun(home.worker, run)).toEqual({ kind: 'not_a_test_run' });
    expect((await home.fold(run)).state.progress.status).toBe('pending');
    const mine = await rich(home);
    const theirs = { ...mine, environment: environment('elsewhere') };
    expect(await stopTestRun(home.worker, theirs)).toEqual({ kind: 'not_found' });
    expect((await home.fold(mine)).state.progress.status).toBe('running');
  });

  it('of a run that has ended, or whose first job was never taken, leaves nothing either', async () => {
    const home = newHome();
    const fresh = await startTestRun(home, definitionOf('draft', 'a>b'));
    await stopTestRun(home.worker, fresh);
    expect(await recordsOf(home, fresh)).toEqual([]);
    const ended = await startTestRun(home, definitionOf('draft', 'a>b b>e'));
    await home.settle();
    const blobs = await blobsOf(home, ended);
    await stopTestRun(home.worker, ended);
    expect(await recordsOf(home, ended, { blobs })).toEqual([]);
  });

  it('frees the key: the same test again is another run', async () => {
    const home = newHome();
    const definition = definitionOf('draft', 'a>b');
    const run = await startTestRun(home, definition);
    await stopTestRun(home.worker, run);
    const again = await requestTestRun(home, definition);
    expect(again).toMatchObject({ kind: 'started', isReplay: false });
    expect(again).not.toMatchObject({ runId: run.runId });
  });

  it('is finished by the next to ask, wherever it died', async () => {
    const count = async (aim?: ConstructorParameters<typeof CrashableProcesses>[1]): Promise<number> => {
      const home = newHome();
      const run = await rich(home);
      const children = await calledBy(home, run);
      const blobs = await blobsOf(home, run);
      const processes = new CrashableProcesses(home.deps, aim);
      const isDone = await survives(stopTestRun({ ...home.worker, deps: processes.start() }, run));
      if (aim !== undefined) {
        // Whatever is left can be looked at.
        await getRun(home.worker, run, true).catch((trouble: unknown) => {
          if (!(trouble instanceof Unavailable)) throw trouble;
        });
        const listed = await home.ports.index.list(scope, { limit: 10 });
        expect(listed.heads.length).toBeLessThan(3);
        const wasWhole = (await home.ports.log.head(run)) === undefined;
        expect(await stopTestRun(home.worker, run)).toEqual({ kind: wasWhole ? 'not_found' : 'stopped' });
        // Only a process that got to its end, or died behind its last call, leaves nothing to do.
        if (isDone) expect(wasWhole).toBe(true);
      }
      expect(await recordsOf(home, run, { blobs, signalKey }), JSON.stringify(aim)).toEqual([]);
      for (const child of children) expect(await recordsOf(home, child), JSON.stringify(aim)).toEqual([]);
      return processes.calls;
    };
    const calls = await count();
    expect(calls).toBeGreaterThan(12);
    for (let call = 1; call <= calls; call += 1) for (const kind of ['before', 'after'] as const) await count({ call, kind });
  });
});

describe('whoever still holds a part of a stopped run', () => {
  it('writes nothing back: a worker in the middle of a node that brings a large output', async () => {
    let stop = async (): Promise<void> => {};
    const home = createTestEnv({
      answer: async (node) => {
        if (node === 'b') await stop();
        return finished(node === 'b' ? largeText : node);
      },
    });
    const run = await startTestRun(home, definitionOf('draft', 'a>b b>d'));
    const put: string[] = [];
    const seen = home.ports.blobs.put.bind(home.ports.blobs);
    home.ports.blobs.put = async (of, name, ...given) => {
      put.push(name);
      return seen(of, name, ...given);
    };
    stop = async () => void (await stopTestRun(home.worker, run));
    await home.settle();
    expect(put).toEqual([]);
    expect(home.attempts).toEqual(['a#1', 'b#1']);
    expect(await recordsOf(home, run)).toEqual([]);
  });

  it('writes nothing back: a put that was on its way finds its slot taken', async () => {
    const home = newHome();
    const run = await startTestRun(home, definitionOf('draft', 'a>b b>d'));
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job');
    // The worker has read everything, and the run is stopped before its commit arrives.
    const put = home.ports.log.put.bind(home.ports.log);
    let isStopped = false;
    home.ports.log.put = async (...given) => {
      if (!isStopped) {
        isStopped = true;
        await stopTestRun(home.worker, run);
      }
      return put(...given);
    };
    await home.take(job);
    expect(isStopped).toBe(true);
    expect(home.ports.jobs.takeSent()).toEqual([]);
    expect(await recordsOf(home, run)).toEqual([]);
  });

  it('finds nothing: jobs, wakes, nudges, results and the sweep, with a kept fold and without', async () => {
    const home = newHome();
    const definition = definitionOf('draft', 'a>b b>d a>z z>f a>g a>h a>i a>j a>m a>n a>o a>p', { z: { ms: 600_000 } });
    const run = await startTestRun(home, definition);
    const warm = { ...home.worker, foldCache: new FoldCache() };
    const jobs: Job[] = [...home.ports.jobs.takeSent()];
    for (const job of jobs) await home.take(job, { worker: warm });
    const late: Job[] = [...home.ports.jobs.takeSent()];
    const [first] = late;
    if (first !== undefined) await home.take(first, { worker: warm });
    const results = home.ports.jobs.takeResults();
    expect(results).toHaveLength(1);
    await stopTestRun(home.worker, run);
    const before = home.attempts.length;
    home.ports.clock.set(after(home.ports.clock.now(), hours(1)));
    for (const worker of [home.worker, { ...home.worker, foldCache: new FoldCache() }]) {
      for (const job of [...late, ...home.ports.jobs.takeMessages(), ...home.ports.jobs.takeDue()]) {
        await home.take(job, { worker, isRedelivered: true });
      }
    }
    for (const isRedelivered of [false, true]) await home.collect([{ run, results, isRedelivered, isMixed: false }]);
    await sweepRuns(home.worker, after(home.ports.clock.now(), hours(1)));
    expect(home.attempts).toHaveLength(before);
    expect(await recordsOf(home, run)).toEqual([]);
    expect((await home.ports.log.commitsAfter(run, firstCommit)).every(isTombstone)).toBe(true);
  });

  it('finds it cancelled: a start that comes late under the same key makes no run of it', async () => {
    const home = newHome();
    const definition = definitionOf('draft', 'a>b');
    const create = home.ports.log.create.bind(home.ports.log);
    let isHeldUp = true;
    home.ports.log.create = async (creation) => {
      if (!isHeldUp) return create(creation);
      isHeldUp = false;
      // Another request of the same key gets ahead, and its run is stopped, before this one's head arrives.
      await stopTestRun(home.worker, await startTestRun(home, definition));
      return create(creation);
    };
    const answer = await requestTestRun(home, definition);
    expect(answer).toMatchObject({ kind: 'run_deleted' });
    if (answer.kind !== 'run_deleted') return;
    expect(await home.ports.log.head({ ...scope, runId: answer.runId })).toBeUndefined();
  });
});
