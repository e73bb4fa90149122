/** No work is dispatched, started or completed after a run's deadline, and a waiting run ends within seconds of it. */
import { describe, expect, test } from 'vitest';
import type { RunAddress } from '../../lib/engine/ids.ts';
import { type Instant, after, between, durationMs, instant, minutes, seconds } from '../../lib/engine/time.ts';
import type { BundleResult } from '../../lib/ports/bundles.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import {
  startCodeRun,
  codeManifest,
  commitsOf,
  waitUntilIdle,
  deploy,
  summarizeEvents,
  handleAllMessages,
  whenAborted,
} from './code-test-env.ts';
import { type TestEnv, finished, createTestEnv, workflow } from './test-env.ts';
import { functionCommand } from './scripted-programs.ts';

const exceeded = { status: 'failed', error: { code: 'deadline_exceeded' } };

/** A graph run with these edges, whose deadline is this many seconds after its start. */
async function startGraphRun(env: TestEnv, drawn: string, deadlineSeconds: number, configs = {}): Promise<RunAddress> {
  await env.publish({ ...workflow('flow', drawn, configs), options: { deadlineSeconds } });
  return env.begin('flow');
}

/** A run of a deployed HTTP bundle. */
async function startBundleRun(env: TestEnv): Promise<RunAddress> {
  const { steps: _steps, ...manifest } = codeManifest('v1');
  await deploy(env, { ...manifest, runtime: 'bundle', workflows: [{ name: 'flow' }], steps: [] });
  return env.begin('flow');
}

const progressOf = async (env: TestEnv, run: RunAddress) => (await env.fold(run)).state.progress;

async function deadlineOf(env: TestEnv, run: RunAddress): Promise<Instant> {
  const head = await env.ports.log.head(run);
  if (head === undefined) throw new Error('the run does not exist');
  return head.deadlineAt;
}

/** The types of the events that were committed at the deadline or after it. */
async function lateEvents(env: TestEnv, run: RunAddress): Promise<readonly string[]> {
  const deadline = await deadlineOf(env, run);
  const late = (await commitsOf(env, run)).filter(({ at }) => at >= deadline);
  return late.flatMap(({ events }) => events.map(({ type }) => type));
}

/** Time from the deadline to the run's last commit. */
async function latenessOf(env: TestEnv, run: RunAddress): Promise<number> {
  const last = (await commitsOf(env, run)).at(-1);
  if (last === undefined) throw new Error('the run has no commit');
  return between(await deadlineOf(env, run), last.at);
}

/** Advances time as in an installation: messages at their time, and a sweep at the end of each minute. */
async function passTime(env: TestEnv, until: Instant): Promise<void> {
  const { clock, jobs, timers } = env.ports;
  for (let sweepAt = after(clock.now(), minutes(1)); clock.now() < until;) {
    const due = [...jobs.delayed.map(({ dueAt }) => dueAt), ...timers.pending().map(({ at }) => at)];
    const next = Math.min(sweepAt, until, ...due.filter((at) => at > clock.now()));
    clock.set(instant(next));
    for (const { job } of timers.takeDue()) await env.take(job);
    for (const job of [...jobs.takeDue(), ...jobs.takeSent()]) await env.take(job);
    if (clock.now() < sweepAt) continue;
    await sweepRuns(env.worker, after(clock.now(), minutes(1)));
    sweepAt = after(sweepAt, minutes(1));
  }
}

describe('a graph run', () => {
  test('dispatches and starts nothing after its deadline', async () => {
    const env = createTestEnv({
      answer: (node) => {
        env.ports.clock.advance(seconds(2));
        return finished(node);
      },
    });
    const chain = Array.from({ length: 9 }, (_, index) => `n${index}>n${index + 1}`).join(' ');
    const run = await startGraphRun(env, chain, 3);
    await env.settle();
    expect(await progressOf(env, run)).toMatchObject(exceeded);
    expect(env.attempts).toEqual(['n0#1', 'n1#1']);
    expect(await lateEvents(env, run)).toEqual(['RUN_STATUS_CHANGED', 'RUN_TIMED_OUT']);
  });

  test('does not start an attempt whose message arrives after the deadline', async () => {
    const env = createTestEnv();
    const run = await startGraphRun(env, 'a>b', 3);
    env.ports.clock.advance(seconds(3));
    await env.settle();
    expect(env.attempts).toEqual([]);
    expect(await progressOf(env, run)).toMatchObject(exceeded);
  });

  test('aborts a running attempt at its deadline', async () => {
    const env = createTestEnv({ answer: () => new Promise(() => {}) });
    const run = await startGraphRun(env, 'a>b', 30);
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('nothing was sent');
    const taking = env.take(job);
    for (let second = 0; second < 30; second += 1) {
      await waitUntilIdle();
      env.ports.clock.advance(seconds(1));
    }
    await taking;
    expect(await progressOf(env, run)).toMatchObject(exceeded);
    expect(await latenessOf(env, run)).toBeLessThanOrEqual(1_000);
  });

  test('does not wait in the worker for a retry beyond its deadline', async () => {
    const env = createTestEnv({
      answer: () => {
        env.ports.clock.advance(durationMs(700));
        return { kind: 'failed', failure: { cause: 'error', message: 'on purpose' } };
      },
    });
    const run = await startGraphRun(env, 'a>b', 2, { a: { retry: { attempts: 10, backoffMs: 400 } } });
    const waiting = env.settle();
    for (let step = 0; step < 40; step += 1) {
      await waitUntilIdle();
      env.ports.clock.advance(durationMs(100));
    }
    await waiting;
    expect((await progressOf(env, run)).status).toBe('failed');
    expect(await lateEvents(env, run)).toEqual(['RUN_STATUS_CHANGED', 'RUN_TIMED_OUT']);
  });

  test.each([30, 200, 601, 960, 3_599, 3_600, 3_601, 86_400])(
    'that waits ends within 5 s of its deadline of %i s',
    async (deadline) => {
      const env = createTestEnv();
      const run = await startGraphRun(env, 'a>s s>b', deadline);
      for (const job of env.ports.jobs.takeSent()) await env.take(job);
      expect((await env.fold(run)).state.nodes.size).toBe(2);
      await passTime(env, after(await deadlineOf(env, run), minutes(5)));
      expect(await progressOf(env, run)).toMatchObject(exceeded);
      expect(await latenessOf(env, run)).toBeLessThanOrEqual(5_000);
    },
  );

  test('that waits ends in the sweep after its deadline if the recheck was lost', async () => {
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        jobs: {
          send: (jobs) => deps.jobs.send(jobs),
          sendTogether: (jobs) => deps.jobs.sendTogether(jobs),
          sendResult: (result) => deps.jobs.sendResult(result),
          sendFire: (fire) => deps.jobs.sendFire(fire),
          sendDelayed: async () => {},
        },
      }),
    });
    const run = await startGraphRun(env, 'a>s s>b', 3_600);
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    await passTime(env, after(await deadlineOf(env, run), minutes(5)));
    expect(await progressOf(env, run)).toMatchObject(exceeded);
    expect(await latenessOf(env, run)).toBeLessThanOrEqual(120_000);
  });

  test('with the default deadline sends no recheck for it at its start', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>s s>b'));
    await env.begin('flow');
    expect(env.ports.jobs.delayed).toEqual([]);
  });
});

describe('a code run', () => {
  test('schedules no step after its deadline', async () => {
    const { env, run, code } = await startCodeRun(
      Array.from({ length: 12 }, (_, index) => [functionCommand(`s${index}`)]),
      {
        stepFunction: () => {
          env.ports.clock.advance(seconds(86_400));
          return 'done';
        },
      },
    );
    await env.settle();
    expect(code.startedSteps).toHaveLength(7);
    expect((await summarizeEvents(env, run)).at(-1)).toMatch(/TIMED OUT$/);
    expect(await progressOf(env, run)).toMatchObject(exceeded);
  });

  test('aborts the running steps at its deadline', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]], {
      stepFunction: (_key, _attempt, signal) => whenAborted(signal),
    });
    env.ports.clock.set(instant((await deadlineOf(env, run)) - 1_000));
    const taking = handleAllMessages(env);
    await waitUntilIdle();
    env.ports.clock.advance(seconds(1));
    await waitUntilIdle();
    await taking;
    expect(code.tasks[0]?.cancelled).toHaveLength(1);
    expect(await progressOf(env, run)).toMatchObject(exceeded);
    expect(await latenessOf(env, run)).toBeLessThanOrEqual(1_000);
  });

  test('starts no step if its workflow task arrives after the deadline', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]]);
    env.ports.clock.set(await deadlineOf(env, run));
    await env.settle();
    expect(code.startedSteps).toEqual([]);
    expect(await progressOf(env, run)).toMatchObject(exceeded);
  });

  test('rolls back after its deadline, for an hour', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a', { hasRollback: true })], [functionCommand('b')]], {
      stepFunction: (key) => {
        if (key === 'b') env.ports.clock.advance(seconds(7 * 86_400 + 1));
        return 'done';
      },
    });
    await env.settle();
    expect(code.startedSteps.length).toBeGreaterThanOrEqual(3);
    expect(await progressOf(env, run)).toMatchObject(exceeded);
  });
});

describe('a bundle run', () => {
  test('sends and completes nothing after its deadline', async () => {
    const env = createTestEnv({
      code: (): BundleResult => {
        env.ports.clock.advance(seconds(86_400 * 8));
        return { kind: 'responded', status: 200, body: { timeoutSeconds: 1 } };
      },
    });
    const run = await startBundleRun(env);
    await env.settle();
    expect(await progressOf(env, run)).toMatchObject(exceeded);
    expect(env.bundleRequests).toHaveLength(1);
  });

  test('does not receive a message after its deadline', async () => {
    const env = createTestEnv();
    const run = await startBundleRun(env);
    env.ports.clock.advance(seconds(86_400 * 8));
    await env.settle();
    expect(env.bundleRequests).toEqual([]);
    expect(await progressOf(env, run)).toMatchObject(exceeded);
  });
});
