/** Two messages of one attempt: one delivery begins it, and the other yields. */
import { describe, expect, test } from 'vitest';
import type { RunAddress } from '../../../lib/engine/ids.ts';
import type { NodeJob } from '../../../lib/ports/jobs.ts';
import { durationMs, seconds } from '../../../lib/engine/time.ts';
import { recoverAndRecheck } from '../../../lib/service/execution/recheck-run.ts';
import { resumeRun } from '../../../lib/service/runs/resume-run.ts';
import { functionCommand } from '../scripted-programs.ts';
import { startCodeRun, waitUntilIdle } from '../code-test-env.ts';
import { overrideMethods } from '../override-methods.ts';
import { type TestEnv, createTestEnv, failing, finished, workflow } from '../test-env.ts';

interface Begun {
  readonly env: TestEnv;
  readonly run: RunAddress;
  readonly job: NodeJob;
  /** ends the attempts of `a` that run */
  readonly finish: () => void;
}

/** A run of `a>b`, whose first job is sent. An attempt of `a` runs until `finish`. */
async function beginRun(wrap?: Parameters<typeof createTestEnv>[0]): Promise<Begun> {
  const ended = Promise.withResolvers<void>();
  const env = createTestEnv({
    answer: async (node) => {
      if (node === 'a') await ended.promise;
      return finished(node);
    },
    ...wrap,
  });
  await env.publish(workflow('flow', 'a>b'));
  const run = await env.begin('flow');
  return { env, run, job: onlyJob(env), finish: () => ended.resolve() };
}

function onlyJob(env: TestEnv): NodeJob {
  const [job, ...more] = env.ports.jobs.takeSent();
  if (job === undefined || more.length > 0) throw new Error(`${more.length + (job === undefined ? 0 : 1)} jobs were sent`);
  return job;
}

const recover = async (env: TestEnv, run: RunAddress): Promise<void> => recoverAndRecheck(env.worker, await env.fold(run));

async function passTime(env: TestEnv, totalSeconds: number): Promise<void> {
  for (let second = 0; second < totalSeconds; second += 1) {
    env.ports.clock.advance(seconds(1));
    await waitUntilIdle();
  }
}

describe('the first message of an attempt', () => {
  test('yields to the worker of a later message when it is delivered late', async () => {
    const { env, run, job, finish } = await beginRun();
    env.ports.clock.advance(seconds(100));
    await recover(env, run);
    const later = env.take(onlyJob(env));
    await waitUntilIdle();
    await env.take(job);
    expect(env.attempts).toEqual(['a#1']);
    finish();
    await later;
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  test('yields to a later message that no worker has received yet', async () => {
    const { env, run, job } = await beginRun();
    env.ports.clock.advance(seconds(100));
    await recover(env, run);
    await env.take(job);
    expect(env.attempts).toEqual([]);
  });

  test('is not sent again while its attempt runs, however late it began', async () => {
    for (const lateBy of [0, 50, 79, 80, 99]) {
      const { env, run, job, finish } = await beginRun();
      env.ports.clock.advance(seconds(lateBy));
      const attempt = env.take(job);
      await waitUntilIdle();
      for (let checks = 0; checks < 6; checks += 1) {
        await passTime(env, 5);
        await recover(env, run);
        expect(env.ports.jobs.takeSent(), `after ${lateBy} s`).toEqual([]);
      }
      finish();
      await attempt;
    }
  });

  test('neither reads nor writes heartbeats when it is delivered in time', async () => {
    const calls: string[] = [];
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          heartbeats: async (run) => {
            calls.push('heartbeats');
            return deps.log.heartbeats(run);
          },
          heartbeat: async () => void calls.push('heartbeat'),
          replaceHeartbeat: async () => {
            calls.push('replaceHeartbeat');
            return true;
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>b'));
    await env.begin('flow');
    env.ports.clock.advance(seconds(79));
    await env.take(onlyJob(env));
    expect([env.attempts, calls]).toEqual([['a#1', 'b#1'], []]);
  });
});

test('a delayed message that is delivered twice at once starts its attempt once', async () => {
  const env = createTestEnv({ answer: (node, number) => (node === 'a' && number === 1 ? failing() : finished(node)) });
  await env.publish(workflow('flow', 'a>b'));
  await env.begin('flow');
  await env.take(onlyJob(env));
  env.ports.clock.advance(seconds(60));
  const [job] = env.ports.jobs.takeDue();
  if (job?.kind !== 'node') throw new Error('no retry was sent');
  await Promise.all([env.take(job, { isDelayed: true }), env.take(job, { isDelayed: true })]);
  expect(env.attempts).toEqual(['a#1', 'a#2', 'b#1']);
});

test('a job that is sent again yields to a worker that began before the resend was recorded', async () => {
  let beforeRecord: (() => Promise<void>) | undefined;
  const { env, run, job, finish } = await beginRun({
    wrap: (deps) => ({
      ...deps,
      jobs: overrideMethods(deps.jobs, {
        send: async (jobs) => {
          await deps.jobs.send(jobs);
          await beforeRecord?.();
          beforeRecord = undefined;
        },
      }),
    }),
  });
  env.ports.clock.advance(seconds(100));
  let first: Promise<void> | undefined;
  beforeRecord = async () => {
    first = env.take(job, { isRedelivered: true });
    await waitUntilIdle();
  };
  await recover(env, run);
  await env.take(onlyJob(env));
  expect(env.attempts).toEqual(['a#1']);
  finish();
  await first;
  expect(env.attempts).toEqual(['a#1', 'b#1']);
});

test('a first workflow task yields to another task of its run that a worker executes from a resent message', async () => {
  const ended = Promise.withResolvers<void>();
  const { env, code, run } = await startCodeRun([[functionCommand('a')]], {
    stepFunction: async () => {
      await ended.promise;
      return 'done';
    },
  });
  // The first task is deferred by 5 s. A resume dispatches the second one now.
  code.immediateEnd = { kind: 'unknown_workflow', message: 'this worker does not have it' };
  for (const job of env.ports.jobs.takeMessages()) await env.take(job);
  code.immediateEnd = undefined;
  await resumeRun(env.worker, run, { reason: 'asked' });
  const [lost] = env.ports.jobs.takeMessages();
  expect(lost).toMatchObject({ nodeId: '.workflow-task.2', resend: 0 });
  env.ports.clock.advance(durationMs(100_000));
  await recover(env, run);
  const again = env.ports.jobs.takeMessages().find((job) => job.nodeId === '.workflow-task.2');
  if (again === undefined) throw new Error('the second task was not sent again');
  const second = env.take(again);
  await waitUntilIdle();
  expect(code.startedSteps).toEqual(['a#1']);
  const deferred = env.ports.jobs.takeDue().find((job) => job.kind === 'workflow_task');
  if (deferred === undefined) throw new Error('the deferred task was not sent');
  await env.take(deferred);
  expect(code.startedSteps).toEqual(['a#1']);
  ended.resolve();
  await second;
  expect((await env.fold(run)).state.progress.status).toBe('completed');
});
