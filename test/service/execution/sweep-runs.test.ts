import { describe, expect, it } from 'vitest';
import { minuteOf } from '../../../lib/engine/log/heartbeat-timeout.ts';
import { after, days, hours, instant, minutes, seconds } from '../../../lib/engine/time.ts';
import { beginSweeping } from '../../../lib/service/execution/begin-sweeping.ts';
import { commitsFoundInThreeReads } from '../../../lib/service/run-log/find-newest-commits.ts';
import { sweepRun, sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { failing, finished, createTestEnv, scope, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

const inTime = (env: ReturnType<typeof createTestEnv>) => after(env.ports.clock.now(), minutes(1));

describe('the sweep', () => {
  it('leaves a healthy run of long nodes behind a backlog of 45 minutes alone, and fails nothing', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    for (let minute = 0; minute < 45; minute += 1) {
      env.ports.clock.advance(minutes(1));
      await sweepRuns(env.worker, inTime(env));
    }
    // The first send, and resends after 100 s, 200 s, 400 s …: only a few, even in a long backlog.
    expect(env.ports.jobs.sent.length).toBeLessThanOrEqual(6);
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('reads the heads of ended and of missing runs in one request for a hundred, and nothing else of them', async () => {
    const calls: string[] = [];
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>e'));
    for (let index = 0; index < 120; index += 1) await env.start({ idempotencyKey: `ended ${index}` });
    await env.settle();
    const open = await env.start({ idempotencyKey: 'open' });
    if (open.kind !== 'started') throw new Error(open.kind);
    const missing = { ...scope, runId: env.ports.ids.runId(env.ports.clock.now()) };
    await env.ports.index.markDue({ run: missing, minute: minuteOf(env.ports.clock.now()) + 2 });
    env.ports.clock.advance(minutes(4));
    const log = new Proxy(env.deps.log, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...given: readonly unknown[]): unknown => {
          if (name !== 'guess') calls.push(String(name));
          return Reflect.apply(method, target, given);
        };
      },
    });
    const swept = await sweepRuns({ ...env.worker, deps: { ...env.deps, log } }, inTime(env));
    expect(swept).toMatchObject({ checked: 122, recovered: 1, failed: [] });
    expect(calls.filter((name) => name === 'heads')).toHaveLength(2);
    // Of the run that has not ended.
    expect(calls.filter((name) => ['head', 'commitsAfter', 'snapshot', 'isFinalized'].includes(name)).toSorted()).toEqual([
      'commitsAfter',
      'head',
      'snapshot',
    ]);
  });

  it('checks each run of a minute with more of them than it reads at once', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    for (let index = 0; index < 120; index += 1) await env.start({ idempotencyKey: `lost ${index}` });
    const started = new Set(env.ports.jobs.takeSent().map((job) => job.run.runId));
    env.ports.clock.advance(minutes(4));
    expect(await sweepRuns(env.worker, inTime(env))).toMatchObject({ checked: 120, recovered: 120, failed: [] });
    expect(new Set(env.ports.jobs.sent.map((job) => job.run.runId))).toEqual(started);
  });

  it('checks each run by itself if the heads cannot be read together', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    env.ports.jobs.takeSent();
    env.ports.clock.advance(minutes(4));
    const log = overrideMethods(env.deps.log, { heads: () => Promise.reject(new Unavailable('the heads')) });
    const swept = await sweepRuns({ ...env.worker, deps: { ...env.deps, log } }, inTime(env));
    expect(swept).toMatchObject({ checked: 1, recovered: 1, failed: [] });
    expect(env.ports.jobs.sent.map((job) => job.run.runId)).toEqual([run.runId]);
  });

  it('writes the next due time before it records a minute as swept', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    env.ports.clock.advance(minutes(3));
    await sweepRuns(env.worker, inTime(env));
    const { state } = await env.fold(run);
    const [sleepingNode] = [...state.nodes.entries()].flatMap(([, node]) =>
      node.status === 'waiting' && node.for === 'time' ? [node] : [],
    );
    if (sleepingNode === undefined) throw new Error('no node sleeps');
    expect(await env.ports.index.dueIn(minuteOf(after(sleepingNode.wakeAt, seconds(60))))).toEqual([run]);
    expect(await env.ports.index.sweptMinute()).toBe(minuteOf(env.ports.clock.now()) - 1);
  });

  it('reads a few days without due runs in a few requests, and checks the runs at their end', async () => {
    const read: string[] = [];
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          dueIn: async (minute) => {
            read.push('dueIn');
            return deps.index.dueIn(minute);
          },
          firstDueMinute: async (first, last) => {
            read.push('firstDueMinute');
            return deps.index.firstDueMinute(first, last);
          },
        }),
      }),
    });
    await sweepRuns(env.worker, inTime(env));
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: 172_800_000 } }));
    await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    env.ports.clock.advance(days(3));
    read.length = 0;
    const swept = await sweepRuns(env.worker, inTime(env));
    expect(swept.checked).toBeGreaterThan(0);
    expect(read.length).toBeLessThan(30);
    expect(await env.ports.index.sweptMinute()).toBe(minuteOf(env.ports.clock.now()) - 1);
  });

  it('marks a failed check due after the swept minute, even if its clock went back meanwhile', async () => {
    let isBack = false;
    const env = createTestEnv({
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
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    env.ports.clock.advance(minutes(3));
    const swept = minuteOf(env.ports.clock.now()) - 1;
    expect(await env.ports.index.dueIn(swept)).toEqual([run]);
    expect((await sweepRuns(env.worker, inTime(env))).failed).toHaveLength(1);
    expect(await env.ports.index.sweptMinute()).toBe(swept);
    expect(await env.ports.index.dueIn(swept + 1)).toEqual([run]);
  });

  it('checks a due run that did not exist a second time', async () => {
    const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>();
    const env = createTestEnv({
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
    await env.publish(workflow('flow', 'a>b'));
    const beginning = env.begin('flow');
    await new Promise((resolve) => setImmediate(resolve));
    const sweepFor = async (count: number): Promise<number> => {
      let looked = 0;
      for (let minute = 0; minute < count; minute += 1) {
        env.ports.clock.advance(minutes(1));
        looked += (await sweepRuns({ ...env.worker, deps: { ...env.deps, jobs: env.ports.jobs } }, inTime(env))).checked;
      }
      return looked;
    };
    expect(await sweepFor(15)).toBe(1);
    thaw();
    await beginning;
    expect(env.ports.jobs.sent).toEqual([]);
    await sweepFor(10);
    expect(env.ports.jobs.sent).toHaveLength(1);
  });

  it('checks a run that never exists at most twice', async () => {
    const env = createTestEnv({
      wrap: (deps) => ({ ...deps, log: overrideMethods(deps.log, { create: () => new Promise<never>(() => {}) }) }),
    });
    await env.publish(workflow('flow', 'a>b'));
    void env.begin('flow');
    await new Promise((resolve) => setImmediate(resolve));
    let looked = 0;
    for (let minute = 0; minute < 120; minute += 1) {
      env.ports.clock.advance(minutes(1));
      looked += (await sweepRuns(env.worker, inTime(env))).checked;
    }
    expect(looked).toBe(2);
  });

  it('finds a run whose start was suspended before it wrote the head', async () => {
    let stands = true;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (entry) => {
            if (stands) env.ports.clock.advance(minutes(10));
            stands = false;
            return deps.index.markDue(entry);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    expect(await env.ports.index.dueIn(minuteOf(after(env.ports.clock.now(), minutes(2))))).toEqual([run]);
  });

  it('finds the runs of an installation’s first minute, however late its first sweep comes', async () => {
    const env = createTestEnv();
    await beginSweeping(env.ports);
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    env.ports.jobs.takeSent();
    env.ports.clock.advance(hours(5));
    expect((await sweepRuns(env.worker, inTime(env))).recovered).toBe(1);
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('wakes a sleeping node whose timer was lost, a minute after its time', async () => {
    const env = createTestEnv({ wrap: (deps) => ({ ...deps, timers: { set: async () => undefined } }) });
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    env.ports.clock.advance(seconds(7_200 + 59));
    expect(await sweepRun(env.worker, run)).toBe(false);
    env.ports.clock.advance(seconds(1));
    expect(await sweepRun(env.worker, run)).toBe(true);
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('ends a run past its deadline even if none of its nodes can be checked', async () => {
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, { heartbeats: () => Promise.reject(new Unavailable('the table')) }),
      }),
    });
    await env.publish({ ...workflow('flow', 'a>b'), options: { deadlineSeconds: 600 } });
    const run = await env.begin('flow');
    env.ports.clock.advance(minutes(12));
    await sweepRuns(env.worker, inTime(env));
    expect((await env.fold(run)).state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
  });

  it('ends a run past its deadline, with `run.timed_out` as its last event', async () => {
    const env = createTestEnv();
    await env.publish({ ...workflow('flow', 'a>b'), options: { deadlineSeconds: 600 } });
    const run = await env.begin('flow');
    env.ports.clock.advance(seconds(599));
    await sweepRun(env.worker, run);
    expect((await env.fold(run)).state.progress.status).toBe('pending');
    env.ports.clock.advance(seconds(1));
    await sweepRun(env.worker, run);
    expect((await env.fold(run)).state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
    expect((await env.ports.log.head(run))?.projection.status).toBe('failed');
  });

  it('repeats the finalization of a run whose head was not updated', async () => {
    let isDead = true;
    const env = createTestEnv({
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
    await env.publish(workflow('flow', 'a>e'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(env.take(job)).rejects.toThrow('killed here');
    isDead = false;
    await sweepRun(env.worker, run);
    expect((await env.ports.log.head(run))?.projection.status).toBe('completed');
  });

  it('does not resend a retry that waits in a queue, and resends a lost one once it is overdue', async () => {
    const env = createTestEnv({ answer: (node, number) => (number === 1 ? failing() : finished(node)) });
    await env.publish(workflow('flow', 'a>e'));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect(env.ports.jobs.delayed).toHaveLength(1);
    for (let look = 0; look < 5; look += 1) await sweepRun(env.worker, run);
    expect(env.ports.jobs.delayed).toHaveLength(1);

    env.ports.jobs.delayed.splice(0);
    env.ports.clock.advance(minutes(3));
    await sweepRun(env.worker, run);
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'a#2']);
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('lists a run by what it waits for, and removes it from the list when it continues', async () => {
    const env = createTestEnv({ answer: (node) => (node === 'b' ? failing() : finished(node)) });
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    await sweepRun(env.worker, run);
    const listed = async (state: 'waiting' | 'retrying') =>
      (await env.ports.index.listByState(scope, state, { limit: 10 })).heads.map((head) => head.address.runId);
    expect(await listed('waiting')).toEqual([run.runId]);
    env.ports.clock.advance(minutes(120));
    for (const { job } of env.ports.timers.takeDue()) await env.take(job);
    await sweepRun(env.worker, run);
    expect([await listed('waiting'), await listed('retrying')]).toEqual([[], [run.runId]]);
    await env.settle();
    expect([await listed('waiting'), await listed('retrying')]).toEqual([[], []]);
  });

  it('rewrites the head of an open run that is far behind its log, though its list state is unchanged', async () => {
    const projected: number[] = [];
    const env = createTestEnv({
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
    const chain = ['a', 'z', ...Array.from({ length: commitsFoundInThreeReads }, (_, index) => `n${index}`), 'z2', 'h'];
    const edges = chain.slice(1).map((node, index) => `${chain[index] ?? ''}>${node}`);
    await env.publish(workflow('flow', edges.join(' '), { z: { ms: 7_200_000 }, z2: { ms: 7_200_000 } }));
    const run = await env.begin('flow');
    const workUntilAsleep = async () => {
      for (let jobs = env.ports.jobs.takeSent(); jobs.length > 0; jobs = env.ports.jobs.takeSent())
        for (const job of jobs) await env.take(job);
    };
    const projection = async () => (await env.ports.log.head(run))?.projection;
    await workUntilAsleep();
    await sweepRun(env.worker, run);
    const first = await projection();
    expect(first).toMatchObject({ attention: 'waiting' });
    env.ports.clock.advance(minutes(120));
    for (const { job } of env.ports.timers.takeDue()) await env.take(job);
    await workUntilAsleep();
    const { asOf } = (await env.fold(run)).state;
    expect(asOf - (first?.asOf ?? 0)).toBeGreaterThan(commitsFoundInThreeReads);
    await sweepRun(env.worker, run);
    expect(await projection()).toEqual({ ...first, asOf });
    await sweepRun(env.worker, run);
    expect(projected).toEqual([first?.asOf, asOf]);
  });

  it('is not blocked by a run whose check fails, and checks it again', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const bad = await env.begin('flow');
    const good = await env.start({ idempotencyKey: 'other' });
    if (good.kind !== 'started') throw new Error(good.kind);
    const sweeper = {
      ...env.worker,
      deps: {
        ...env.deps,
        log: overrideMethods(env.deps.log, {
          head: async (run) => (run.runId === bad.runId ? Promise.reject(new Unavailable('the head')) : env.deps.log.head(run)),
        }),
      },
    };
    env.ports.clock.advance(minutes(4));
    const swept = await sweepRuns(sweeper, inTime(env));
    expect(swept).toMatchObject({ checked: 1, recovered: 1, failed: [{ run: bad }] });
    env.ports.clock.advance(minutes(2));
    expect(await sweepRuns(env.worker, inTime(env))).toMatchObject({ recovered: 1, failed: [] });
  });
});
