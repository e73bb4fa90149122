import { describe, expect, it } from 'vitest';
import { nodeId, runId } from '../../../lib/engine/ids.ts';
import { minuteOf } from '../../../lib/engine/log/heartbeat-timeout.ts';
import { after, days, hours, minutes, seconds } from '../../../lib/engine/time.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { wakeRun } from '../../../lib/service/runs/wake-run.ts';
import { startCodeRun, waitUntilIdle } from '../code-test-env.ts';
import { RetryAfter, functionCommand } from '../scripted-programs.ts';
import { type TestEnv, createTestEnv, failing, finished, scope, sweepFourMinutesLater, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

const asleep = { z1: { ms: days(3) }, z2: { ms: hours(2) } };

/** A run with two sleeping nodes. */
async function sleeping(env: TestEnv, drawn = 'a>z1 a>z2 z1>b z2>b') {
  await env.publish(workflow('flow', drawn, asleep));
  const run = await env.begin('flow');
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  return run;
}

describe('waking a run', () => {
  it('ends every sleep at once, and the run completes', async () => {
    const env = createTestEnv();
    const run = await sleeping(env);
    const now = env.ports.clock.now();
    expect(await wakeRun(env.worker, run)).toEqual({ kind: 'woken', nodeIds: ['z1', 'z2'] });
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect((await env.fold(run)).state.progress).toMatchObject({ status: 'completed', endedAt: now });
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  it('by node id ends only those sleeps, and skips nodes that do not sleep', async () => {
    const env = createTestEnv();
    const run = await sleeping(env);
    expect(await wakeRun(env.worker, run, { nodeIds: [nodeId('z2'), nodeId('a'), nodeId('nowhere')] })).toEqual({
      kind: 'woken',
      nodeIds: ['z2'],
    });
    const { state } = await env.fold(run);
    expect([...state.open.keys()]).toEqual(['z1']);
  });

  it('repeated by node id, or without a sleeping node, changes nothing', async () => {
    const env = createTestEnv();
    const run = await sleeping(env);
    await wakeRun(env.worker, run, { nodeIds: [nodeId('z2')] });
    const { asOf } = (await env.fold(run)).state;
    const before = env.ports.jobs.delayed.length;
    expect(await wakeRun(env.worker, run, { nodeIds: [nodeId('z2')] })).toEqual({ kind: 'woken', nodeIds: [] });
    expect((await env.fold(run)).state.asOf).toBe(asOf);
    expect(env.ports.jobs.delayed.length).toBe(before);
  });

  it('leaves timers that change nothing when they fire', async () => {
    const env = createTestEnv();
    const run = await sleeping(env);
    await wakeRun(env.worker, run);
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const { asOf } = (await env.fold(run)).state;
    await env.settle();
    expect((await env.fold(run)).state.asOf).toBe(asOf);
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  it('of an ended run is refused with its status', async () => {
    const env = createTestEnv();
    const run = await sleeping(env);
    await cancelRun(env.worker, run);
    expect(await wakeRun(env.worker, run)).toEqual({ kind: 'run_terminal', status: 'cancelled' });
  });

  it('of a missing run is not found', async () => {
    const env = createTestEnv();
    expect(await wakeRun(env.worker, { ...scope, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') })).toEqual({
      kind: 'not_found',
    });
  });

  it('that loses its put to a cancel returns the run’s status', async () => {
    let meanwhile: (() => Promise<unknown>) | undefined;
    const env = createTestEnv({
      wrap: (deps: Deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (...given) => {
            const now = meanwhile;
            meanwhile = undefined;
            await now?.();
            return deps.index.markDue(...given);
          },
        }),
      }),
    });
    const run = await sleeping(env);
    meanwhile = () => cancelRun(env.worker, run);
    expect(await wakeRun(env.worker, run)).toEqual({ kind: 'run_terminal', status: 'cancelled' });
  });
});

describe('a wake that crashes after its commit', () => {
  const killed = async () => {
    let isKilled = false;
    const env = createTestEnv({
      wrap: (deps: Deps) => ({
        ...deps,
        jobs: overrideMethods(deps.jobs, {
          send: async (jobs) => (isKilled ? Promise.reject(new Error('killed here')) : deps.jobs.send(jobs)),
        }),
      }),
    });
    const run = await sleeping(env);
    // The due entry of the start is used up.
    await sweepFourMinutesLater(env);
    isKilled = true;
    await expect(wakeRun(env.worker, run)).rejects.toThrow('killed here');
    expect(env.ports.jobs.sent).toEqual([]);
    isKilled = false;
    return { env, run };
  };

  it('is completed by the sweep within four minutes, for any length of the sleep', async () => {
    const { env, run } = await killed();
    expect(env.ports.jobs.delayed.filter(({ job }) => job.kind === 'recheck')).toEqual([]);
    const due = minuteOf(after(env.ports.clock.now(), minutes(2)));
    expect(await env.ports.index.dueIn(due)).toEqual([run]);
    await sweepFourMinutesLater(env);
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });
});

describe('retrying a run now', () => {
  const retries = { attempts: 3, backoffMs: 5_000, maxBackoffMs: 5_000 };

  /** A run whose first attempt of `a` has failed. The second one is due in seconds. */
  async function inBackoff(options: Parameters<typeof createTestEnv>[0] = {}) {
    const env = createTestEnv({
      answer: (node, number) => (node === 'a' && number === 1 ? failing() : finished(node)),
      ...options,
    });
    await env.publish(workflow('flow', 'a>b', { a: { retry: retries } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    return { env, run };
  }

  it('runs the next attempt at once, and the message of the old time changes nothing', async () => {
    const { env, run } = await inBackoff();
    const failedAt = env.ports.clock.now();
    expect(await wakeRun(env.worker, run, { retries: true })).toEqual({ kind: 'woken', nodeIds: ['a'] });
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect((await env.fold(run)).state.progress).toMatchObject({ status: 'completed', endedAt: failedAt });
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'a#2', 'b#1']);
  });

  it('leaves the message of the old time without an effect while the attempt still runs', async () => {
    const ended = Promise.withResolvers<void>();
    const { env, run } = await inBackoff({
      answer: async (node, number) => {
        if (node === 'a' && number === 1) return failing();
        if (node === 'a') await ended.promise;
        return finished(node);
      },
    });
    const old = env.ports.jobs.delayed.find(({ job }) => job.kind === 'node')?.job;
    if (old === undefined) throw new Error('no retry was sent');
    await wakeRun(env.worker, run, { retries: true });
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const attempt = env.take(job);
    await waitUntilIdle();
    env.ports.clock.advance(seconds(5));
    for (const isRedelivered of [false, true]) await env.take(old, { isDelayed: true, isRedelivered });
    expect(env.attempts).toEqual(['a#1', 'a#2']);
    ended.resolve();
    await attempt;
    expect(env.attempts).toEqual(['a#1', 'a#2', 'b#1']);
  });

  it('leaves the message of the old time without an effect in a worker that has the run as of its failure', async () => {
    const { env, run } = await inBackoff({
      answer: (node, number) => (node === 'a' && number < 3 ? failing() : finished(node)),
    });
    const { worker } = env;
    const old = env.ports.jobs.delayed.find(({ job }) => job.kind === 'node')?.job;
    if (old === undefined) throw new Error('no retry was sent');
    worker.foldCache.put(await env.fold(run));
    await wakeRun(worker, run, { retries: true });
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    env.ports.clock.advance(seconds(5));
    await env.take(old, { isDelayed: true, worker });
    expect(env.attempts).toEqual(['a#1', 'a#2']);
  });

  it('wakes no sleeping node, and a wake retries nothing', async () => {
    const env = createTestEnv({ answer: (node, number) => (node === 'a' && number === 1 ? failing() : finished(node)) });
    await env.publish(workflow('flow', 'o>a o>z1', { a: { retry: retries }, z1: { ms: hours(1) } }));
    const run = await env.begin('flow');
    for (let round = 0; round < 2; round += 1) for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect([...(await env.fold(run)).state.open.keys()].toSorted()).toEqual(['a', 'z1']);
    expect(await wakeRun(env.worker, run)).toEqual({ kind: 'woken', nodeIds: ['z1'] });
    expect(await wakeRun(env.worker, run, { retries: true, nodeIds: [nodeId('o')] })).toEqual({ kind: 'woken', nodeIds: [] });
    expect(await wakeRun(env.worker, run, { retries: true, nodeIds: [nodeId('a')] })).toEqual({ kind: 'woken', nodeIds: ['a'] });
    expect(await wakeRun(env.worker, run, { retries: true })).toEqual({ kind: 'woken', nodeIds: [] });
  });

  it('is completed by the sweep if the process crashes after the commit', async () => {
    let isBroken = false;
    const { env, run } = await inBackoff({
      answer: (node, number) => (node === 'a' && number === 1 ? { ...failing(), retryAfterMs: hours(1) } : finished(node)),
      wrap: (deps) => ({
        ...deps,
        jobs: overrideMethods(deps.jobs, {
          send: async (jobs) => {
            if (isBroken) throw new Error('crashed here');
            return deps.jobs.send(jobs);
          },
        }),
      }),
    });
    // The due entry of the start is used up.
    await sweepFourMinutesLater(env);
    isBroken = true;
    await expect(wakeRun(env.worker, run, { retries: true })).rejects.toThrow('crashed here');
    isBroken = false;
    await sweepFourMinutesLater(env);
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'a#2', 'b#1']);
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('retries a step of code at once, whose workflow task of the old time then finds nothing to do', async () => {
    const { env, code, run } = await startCodeRun([[functionCommand('a')]], {
      stepFunction: (_key, number) => {
        if (number === 1) throw new RetryAfter(minutes(5));
        return 'done';
      },
    });
    for (const job of env.ports.jobs.takeMessages()) await env.take(job);
    const failedAt = env.ports.clock.now();
    expect(await wakeRun(env.worker, run, { retries: true })).toEqual({ kind: 'woken', nodeIds: ['a'] });
    for (const job of env.ports.jobs.takeMessages()) await env.take(job);
    expect((await env.fold(run)).state.progress).toMatchObject({ status: 'completed', endedAt: failedAt });
    await env.settle();
    expect(code.startedSteps).toEqual(['a#1', 'a#2']);
  });

  it('runs a deferred workflow task at once', async () => {
    const { env, code, run } = await startCodeRun([[functionCommand('a')]]);
    code.immediateEnd = { kind: 'unknown_workflow', message: 'this worker does not have it' };
    for (const job of env.ports.jobs.takeMessages()) await env.take(job);
    code.immediateEnd = undefined;
    expect(await wakeRun(env.worker, run, { retries: true })).toEqual({ kind: 'woken', nodeIds: ['.workflow-task.1'] });
    for (const job of env.ports.jobs.takeMessages()) await env.take(job);
    expect((await env.fold(run)).state.progress.status).toBe('completed');
    await env.settle();
    expect(code.startedSteps).toEqual(['a#1']);
  });
});
