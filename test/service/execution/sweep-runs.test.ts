import { describe, expect, it } from 'vitest';
import { minuteOf } from '../../../lib/engine/log/heartbeat-timeout.ts';
import { after, hours, instant, minutes, seconds } from '../../../lib/engine/time.ts';
import { beginSweeping } from '../../../lib/service/execution/begin-sweeping.ts';
import { sweepRun, sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { failing, finished, createTestEnv, scope, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

const inTime = (home: ReturnType<typeof createTestEnv>) => after(home.ports.clock.now(), minutes(1));

describe('the sweep', () => {
  it('leaves a healthy run of long nodes behind a backlog of 45 minutes alone, and fails nothing', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    for (let minute = 0; minute < 45; minute += 1) {
      home.ports.clock.advance(minutes(1));
      await sweepRuns(home.worker, inTime(home));
    }
    // The first send, and re-sends after 100 s, 200 s, 400 s …: a handful, however long the backlog.
    expect(home.ports.jobs.sent.length).toBeLessThanOrEqual(6);
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('writes when to look next before a minute counts as passed', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    home.ports.clock.advance(minutes(3));
    await sweepRuns(home.worker, inTime(home));
    const { state } = await home.fold(run);
    const [asleep] = [...state.nodes.entries()].flatMap(([, node]) =>
      node.status === 'waiting' && node.for === 'time' ? [node] : [],
    );
    if (asleep === undefined) throw new Error('nobody sleeps');
    expect(await home.ports.index.dueIn(minuteOf(after(asleep.wakeAt, seconds(60))))).toEqual([run]);
    expect(await home.ports.index.sweptMinute()).toBe(minuteOf(home.ports.clock.now()) - 1);
  });

  it('writes what it could not look at behind the minute that it sweeps, though its clock has gone back meanwhile', async () => {
    let isBack = false;
    const home = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        clock: overrideMethods(deps.clock, { now: () => instant(deps.clock.now() - (isBack ? minutes(2) : 0)) }),
        index: overrideMethods(deps.index, {
          dueIn: async (minute) => {
            const due = await deps.index.dueIn(minute);
            isBack = due.length > 0;
            return due;
          },
        }),
        log: overrideMethods(deps.log, {
          head: async (run) => {
            if (isBack) throw new Unavailable('the table');
            return deps.log.head(run);
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    home.ports.clock.advance(minutes(3));
    const swept = minuteOf(home.ports.clock.now()) - 1;
    expect(await home.ports.index.dueIn(swept)).toEqual([run]);
    expect((await sweepRuns(home.worker, inTime(home))).failed).toHaveLength(1);
    expect(await home.ports.index.sweptMinute()).toBe(swept);
    expect(await home.ports.index.dueIn(swept + 1)).toEqual([run]);
  });

  it('looks again for a run that was not there when it was to be looked at', async () => {
    const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>();
    const home = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          create: async (run) => {
            await thawed;
            return deps.log.create(run);
          },
        }),
        jobs: overrideMethods(deps.jobs, { send: () => Promise.reject(new Unavailable('the queue')) }),
      }),
    });
    await home.publish(workflow('flow', 'a>b'));
    const beginning = home.begin('flow');
    await new Promise((resolve) => setImmediate(resolve));
    const sweepFor = async (count: number): Promise<number> => {
      let looked = 0;
      for (let minute = 0; minute < count; minute += 1) {
        home.ports.clock.advance(minutes(1));
        looked += (await sweepRuns({ ...home.worker, deps: { ...home.deps, jobs: home.ports.jobs } }, inTime(home))).checked;
      }
      return looked;
    };
    expect(await sweepFor(15)).toBe(1);
    thaw();
    await beginning;
    expect(home.ports.jobs.sent).toEqual([]);
    await sweepFor(10);
    expect(home.ports.jobs.sent).toHaveLength(1);
  });

  it('looks twice at most for a run that is never there', async () => {
    const home = createTestEnv({
      wrap: (deps) => ({ ...deps, log: overrideMethods(deps.log, { create: () => new Promise<never>(() => {}) }) }),
    });
    await home.publish(workflow('flow', 'a>b'));
    void home.begin('flow');
    await new Promise((resolve) => setImmediate(resolve));
    let looked = 0;
    for (let minute = 0; minute < 120; minute += 1) {
      home.ports.clock.advance(minutes(1));
      looked += (await sweepRuns(home.worker, inTime(home))).checked;
    }
    expect(looked).toBe(2);
  });

  it('finds a run whose maker stood still before it had said when to look', async () => {
    let stands = true;
    const home = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (entry) => {
            if (stands) home.ports.clock.advance(minutes(10));
            stands = false;
            return deps.index.markDue(entry);
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    expect(await home.ports.index.dueIn(minuteOf(after(home.ports.clock.now(), minutes(2))))).toEqual([run]);
  });

  it('finds the runs of an installation’s first minute, however late its first sweep comes', async () => {
    const home = createTestEnv();
    await beginSweeping(home.ports);
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    home.ports.jobs.takeSent();
    home.ports.clock.advance(hours(5));
    expect((await sweepRuns(home.worker, inTime(home))).recovered).toBe(1);
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('wakes a sleeper whose timer was lost, a minute after its time', async () => {
    const home = createTestEnv({ wrap: (deps) => ({ ...deps, timers: { set: async () => undefined } }) });
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    home.ports.clock.advance(seconds(7_200 + 59));
    expect(await sweepRun(home.worker, run)).toBe(false);
    home.ports.clock.advance(seconds(1));
    expect(await sweepRun(home.worker, run)).toBe(true);
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('ends a run that has passed its deadline though nothing of what it is at work on can be looked at', async () => {
    const home = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, { heartbeats: () => Promise.reject(new Unavailable('the table')) }),
      }),
    });
    await home.publish({ ...workflow('flow', 'a>b'), options: { deadlineSeconds: 600 } });
    const run = await home.begin('flow');
    home.ports.clock.advance(minutes(12));
    await sweepRuns(home.worker, inTime(home));
    expect((await home.fold(run)).state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
  });

  it('ends a run that has passed its deadline, with the run timed out as its last event', async () => {
    const home = createTestEnv();
    await home.publish({ ...workflow('flow', 'a>b'), options: { deadlineSeconds: 600 } });
    const run = await home.begin('flow');
    home.ports.clock.advance(seconds(599));
    await sweepRun(home.worker, run);
    expect((await home.fold(run)).state.progress.status).toBe('pending');
    home.ports.clock.advance(seconds(1));
    await sweepRun(home.worker, run);
    expect((await home.fold(run)).state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
    expect((await home.ports.log.head(run))?.projection.status).toBe('failed');
  });

  it('redoes the last duties of a run whose head was never told', async () => {
    let isDead = true;
    const home = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          project: async (...given) => {
            if (isDead) throw new Error('killed here');
            return deps.log.project(...given);
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>e'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(home.take(job)).rejects.toThrow('killed here');
    isDead = false;
    await sweepRun(home.worker, run);
    expect((await home.ports.log.head(run))?.projection.status).toBe('completed');
  });

  it('asks for a retry that waits in a queue no second time, and for one that never got there once it is overdue', async () => {
    const home = createTestEnv({ answer: (node, number) => (number === 1 ? failing() : finished(node)) });
    await home.publish(workflow('flow', 'a>e'));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    expect(home.ports.jobs.delayed).toHaveLength(1);
    for (let look = 0; look < 5; look += 1) await sweepRun(home.worker, run);
    expect(home.ports.jobs.delayed).toHaveLength(1);

    home.ports.jobs.delayed.splice(0);
    home.ports.clock.advance(minutes(3));
    await sweepRun(home.worker, run);
    await home.settle();
    expect(home.attempts).toEqual(['a#1', 'a#2']);
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('makes a run findable by what it waits for, and takes that back when it goes on', async () => {
    const home = createTestEnv({ answer: (node) => (node === 'b' ? failing() : finished(node)) });
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    await sweepRun(home.worker, run);
    const listed = async (state: 'waiting' | 'retrying') =>
      (await home.ports.index.listByState(scope, state, { limit: 10 })).heads.map((head) => head.address.runId);
    expect(await listed('waiting')).toEqual([run.runId]);
    home.ports.clock.advance(minutes(120));
    for (const { job } of home.ports.timers.takeDue()) await home.take(job);
    await sweepRun(home.worker, run);
    expect([await listed('waiting'), await listed('retrying')]).toEqual([[], [run.runId]]);
    await home.settle();
    expect([await listed('waiting'), await listed('retrying')]).toEqual([[], []]);
  });

  it('rewrites the head of an open run that is more than four commits behind its log, though its list state is unchanged', async () => {
    const projected: number[] = [];
    const home = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          project: async (run, projection) => {
            projected.push(projection.asOf);
            return deps.log.project(run, projection);
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>z z>b b>d d>f f>g g>z2 z2>h', { z: { ms: 7_200_000 }, z2: { ms: 7_200_000 } }));
    const run = await home.begin('flow');
    const workUntilAsleep = async () => {
      for (let jobs = home.ports.jobs.takeSent(); jobs.length > 0; jobs = home.ports.jobs.takeSent())
        for (const job of jobs) await home.take(job);
    };
    const projection = async () => (await home.ports.log.head(run))?.projection;
    await workUntilAsleep();
    await sweepRun(home.worker, run);
    const first = await projection();
    expect(first).toMatchObject({ attention: 'waiting' });
    home.ports.clock.advance(minutes(120));
    for (const { job } of home.ports.timers.takeDue()) await home.take(job);
    await workUntilAsleep();
    const { asOf } = (await home.fold(run)).state;
    expect(asOf - (first?.asOf ?? 0)).toBeGreaterThan(4);
    await sweepRun(home.worker, run);
    expect(await projection()).toEqual({ ...first, asOf });
    await sweepRun(home.worker, run);
    expect(projected).toEqual([first?.asOf, asOf]);
  });

  it('is not held up by a run that it cannot look at, and looks at it again', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const bad = await home.begin('flow');
    const good = await home.start({ idempotencyKey: 'other' });
    if (good.kind !== 'started') throw new Error(good.kind);
    const sweeper = {
      ...home.worker,
      deps: {
        ...home.deps,
        log: overrideMethods(home.deps.log, {
          head: async (run) => (run.runId === bad.runId ? Promise.reject(new Unavailable('the head')) : home.deps.log.head(run)),
        }),
      },
    };
    home.ports.clock.advance(minutes(4));
    const swept = await sweepRuns(sweeper, inTime(home));
    expect(swept).toMatchObject({ checked: 1, recovered: 1, failed: [{ run: bad }] });
    home.ports.clock.advance(minutes(2));
    expect(await sweepRuns(home.worker, inTime(home))).toMatchObject({ recovered: 1, failed: [] });
  });
});
