/** Stopping a test run: of the run nothing is left, whoever dies on the way, and whoever still holds a part of it. */
import { describe, expect, it } from 'vitest';
import { type RunAddress, environment, firstCommit } from '../../lib/engine/ids.ts';
import { isTestRun } from '../../lib/engine/log/head.ts';
import { isForgotten } from '../../lib/engine/log/forgotten.ts';
import { after, hours } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { getRun } from '../../lib/service/get-run.ts';
import { listEvents } from '../../lib/service/list-events.ts';
import { recoverRuns } from '../../lib/service/recover-runs.ts';
import { stopTestRun } from '../../lib/service/stop-test-run.ts';
import { WarmFolds } from '../../lib/service/warm-folds.ts';
import { type House, finished, house, scope, workflow } from './house.ts';
import { Processes, lives } from './processes.ts';
import { blobsOf, drawn, large, test, tested, tracesOf } from './tried.ts';

const place = { name: 'paid', correlation: 'order-7' };

/** A run that has left something everywhere: a large input and output, a wait, a nap, a run that it called, due entries, a beat, a snapshot. */
async function rich(home: House): Promise<RunAddress> {
  await home.publish(workflow('child', 'x>y y>z', { z: { ms: 3_600_000 } }));
  const configs = { s: place, z: { ms: 3_600_000 }, k: { calls: 'child' } };
  const run = await tested(home, drawn('draft', 'a>b b>s s>d a>z z>f a>g a>k', configs), { input: { text: 'y'.repeat(1_000) } });
  for (let round = 0; round < 2; round += 1)
    for (const job of [...home.world.jobs.takeSent(), ...home.world.jobs.takeDue()]) await home.take(job);
  const { head, state } = await home.fold(run);
  await home.world.log.beat(
    run,
    { node: [...state.nodes.keys()][0] ?? neverKey(), at: home.world.clock.now(), resends: 0 },
    head.expiresAt,
  );
  await home.world.log.saveSnapshot(run, { asOf: head.commit.number, schema: 0, state: null }, head.expiresAt);
  return run;
}
const neverKey = (): never => {
  throw new Error('the run has no node');
};
const calledBy = async ({ world }: House, run: RunAddress): Promise<readonly RunAddress[]> =>
  (await world.index.list(scope, { limit: 10 })).heads.map(({ address }) => address).filter(({ runId }) => runId !== run.runId);
const newHome = () => house({ answer: (node) => (node === 'b' ? finished(large) : finished(node)) });

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
    expect(await tracesOf(home, child)).not.toEqual([]);
    expect(new Set((await tracesOf(home, run, { blobs, place })).map((what) => what.replace(/ in .*/, '')))).toEqual(
      new Set(['head', 'graph', 'input', 'beats', 'snapshot', 'commits', 'list', 'due', 'blob', 'waiter', 'reservation']),
    );
    expect(await stopTestRun(home.worker, run)).toEqual({ kind: 'stopped' });
    expect(await tracesOf(home, run, { blobs, place })).toEqual([]);
    expect(await getRun(home.worker, run, true)).toEqual({ kind: 'not_found' });
    expect(await listEvents(home.deps, run, { after: 0, limit: 10 })).toEqual({ kind: 'not_found' });
    expect(await stopTestRun(home.worker, run)).toEqual({ kind: 'not_found' });
    expect(await tracesOf(home, child)).toEqual([]);
    expect(home.world.notices.told).toEqual([]);
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
    const fresh = await tested(home, drawn('draft', 'a>b'));
    await stopTestRun(home.worker, fresh);
    expect(await tracesOf(home, fresh)).toEqual([]);
    const ended = await tested(home, drawn('draft', 'a>b b>e'));
    await home.settle();
    const blobs = await blobsOf(home, ended);
    await stopTestRun(home.worker, ended);
    expect(await tracesOf(home, ended, { blobs })).toEqual([]);
  });

  it('frees the key: the same test again is another run', async () => {
    const home = newHome();
    const definition = drawn('draft', 'a>b');
    const run = await tested(home, definition);
    await stopTestRun(home.worker, run);
    const again = await test(home, definition);
    expect(again).toMatchObject({ kind: 'started', isReplay: false });
    expect(again).not.toMatchObject({ runId: run.runId });
  });

  it('is finished by the next to ask, wherever it died', async () => {
    const count = async (aim?: ConstructorParameters<typeof Processes>[1]): Promise<number> => {
      const home = newHome();
      const run = await rich(home);
      const children = await calledBy(home, run);
      const blobs = await blobsOf(home, run);
      const processes = new Processes(home.deps, aim);
      const isDone = await lives(stopTestRun({ ...home.worker, deps: processes.start() }, run));
      if (aim !== undefined) {
        // Whatever is left can be looked at.
        await getRun(home.worker, run, true).catch((trouble: unknown) => {
          if (!(trouble instanceof Unavailable)) throw trouble;
        });
        const listed = await home.world.index.list(scope, { limit: 10 });
        expect(listed.heads.length).toBeLessThan(3);
        const wasWhole = (await home.world.log.head(run)) === undefined;
        expect(await stopTestRun(home.worker, run)).toEqual({ kind: wasWhole ? 'not_found' : 'stopped' });
        // Only a process that got to its end, or died behind its last call, leaves nothing to do.
        if (isDone) expect(wasWhole).toBe(true);
      }
      expect(await tracesOf(home, run, { blobs, place }), JSON.stringify(aim)).toEqual([]);
      for (const child of children) expect(await tracesOf(home, child), JSON.stringify(aim)).toEqual([]);
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
    const home = house({
      answer: async (node) => {
        if (node === 'b') await stop();
        return finished(node === 'b' ? large : node);
      },
    });
    const run = await tested(home, drawn('draft', 'a>b b>d'));
    const put: string[] = [];
    const seen = home.world.blobs.put.bind(home.world.blobs);
    home.world.blobs.put = async (of, name, ...given) => {
      put.push(name);
      return seen(of, name, ...given);
    };
    stop = async () => void (await stopTestRun(home.worker, run));
    await home.settle();
    expect(put).toEqual([]);
    expect(home.attempts).toEqual(['a#1', 'b#1']);
    expect(await tracesOf(home, run)).toEqual([]);
  });

  it('writes nothing back: a put that was on its way finds its slot taken', async () => {
    const home = newHome();
    const run = await tested(home, drawn('draft', 'a>b b>d'));
    const [job] = home.world.jobs.takeSent();
    if (job === undefined) throw new Error('no job');
    // The worker has read everything, and the run is stopped before its commit arrives.
    const put = home.world.log.put.bind(home.world.log);
    let isStopped = false;
    home.world.log.put = async (...given) => {
      if (!isStopped) {
        isStopped = true;
        await stopTestRun(home.worker, run);
      }
      return put(...given);
    };
    await home.take(job);
    expect(isStopped).toBe(true);
    expect(home.world.jobs.takeSent()).toEqual([]);
    expect(await tracesOf(home, run)).toEqual([]);
  });

  it('finds nothing: jobs, wakes, nudges, results and the sweep, with a kept fold and without', async () => {
    const home = newHome();
    const definition = drawn('draft', 'a>b b>d a>z z>f a>g a>h a>i a>j a>m a>n a>o a>p', { z: { ms: 600_000 } });
    const run = await tested(home, definition);
    const warm = { ...home.worker, folds: new WarmFolds() };
    const jobs: Job[] = [...home.world.jobs.takeSent()];
    for (const job of jobs) await home.take(job, { worker: warm });
    const late: Job[] = [...home.world.jobs.takeSent()];
    const [first] = late;
    if (first !== undefined) await home.take(first, { worker: warm });
    const results = home.world.jobs.takeResults();
    expect(results).toHaveLength(1);
    await stopTestRun(home.worker, run);
    const before = home.attempts.length;
    home.world.clock.set(after(home.world.clock.now(), hours(1)));
    for (const worker of [home.worker, { ...home.worker, folds: new WarmFolds() }]) {
      for (const job of [...late, ...home.world.jobs.takeMessages(), ...home.world.jobs.takeDue()]) {
        await home.take(job, { worker, isRedelivered: true });
      }
    }
    for (const isRedelivered of [false, true]) await home.collect([{ run, results, isRedelivered, isMixed: false }]);
    await recoverRuns(home.worker, after(home.world.clock.now(), hours(1)));
    expect(home.attempts).toHaveLength(before);
    expect(await tracesOf(home, run)).toEqual([]);
    expect((await home.world.log.commitsAfter(run, firstCommit)).every(isForgotten)).toBe(true);
  });

  it('finds it cancelled: a start that comes late under the same key makes no run of it', async () => {
    const home = newHome();
    const definition = drawn('draft', 'a>b');
    const create = home.world.log.create.bind(home.world.log);
    let isHeldUp = true;
    home.world.log.create = async (creation) => {
      if (!isHeldUp) return create(creation);
      isHeldUp = false;
      // Another request of the same key gets ahead, and its run is stopped, before this one's head arrives.
      await stopTestRun(home.worker, await tested(home, definition));
      return create(creation);
    };
    const answer = await test(home, definition);
    expect(answer).toMatchObject({ kind: 'run_deleted' });
    if (answer.kind !== 'run_deleted') return;
    expect(await home.world.log.head({ ...scope, runId: answer.runId })).toBeUndefined();
  });
});
