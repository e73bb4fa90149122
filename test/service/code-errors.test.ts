/** Errors in code runs: commits of other writers, failed workflow tasks, and lost or duplicate messages. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, commitNo, firstAttempt, nodeId, topLevel } from '../../lib/engine/ids.ts';
import { days, durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import type { WorkflowTaskJob } from '../../lib/ports/jobs.ts';
import type { CommandBatch } from '../../lib/engine/durable/command-batch.ts';
import type { WorkflowTaskEnd } from '../../lib/ports/programs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { getRun } from '../../lib/service/runs/get-run.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { codeCreation } from '../contract/samples.ts';
import {
  startCodeRun,
  codeManifest,
  commitsOf,
  waitUntilIdle,
  statusOf,
  summarizeEvents,
  handleAllMessages,
  whenAborted,
} from './code-test-env.ts';
import { deadLetterAfterCrash } from './dead-letters.ts';
import { type TestEnv, scope } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';
import { WorkflowTaskCrash, RetryAfter, functionCommand } from './scripted-programs.ts';

const workflowTaskJob = (run: RunAddress, facts: Partial<WorkflowTaskJob> = {}): WorkflowTaskJob => ({
  kind: 'workflow_task',
  run,
  commit: commitNo(1),
  nodeId: nodeId('.workflow-task.1'),
  iteration: topLevel,
  attempt: firstAttempt,
  resend: 0,
  creation: codeCreation(run, { deploymentId: codeManifest('v1').deploymentId }),
  ...facts,
});

const errorOf = async (env: TestEnv, run: RunAddress) => {
  const { progress } = (await env.fold(run)).state;
  return progress.status === 'failed' ? progress.error : undefined;
};

const paid = { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '17' } as const;
/** After the worker has registered the new waits. */
const sendPaidSignal = async (env: TestEnv) => {
  for (const job of env.ports.jobs.takeDue()) await env.take(job);
  return sendSignal(env.worker, scope, { name: 'paid', correlation: '17', payload: 5, bodyHash: 'h', idempotencyKey: 'k2' });
};

/** A step function that the test ends. */
const gate = () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { promise, open: () => resolve('open') };
};

describe('a cancel', () => {
  test('reaches the running step function within five seconds and ends the run; the step’s result changes nothing', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')]], {
      stepFunction: (key, _attempt, signal) => (key === 'b' ? whenAborted(signal) : key),
    });
    const running = handleAllMessages(env);
    await waitUntilIdle();
    expect(await cancelRun(env.worker, run, 'enough')).toEqual({ kind: 'cancelled' });
    env.ports.clock.advance(seconds(5));
    await running;
    expect(code.tasks[0]?.cancelled).toEqual(['enough']);
    expect((await summarizeEvents(env, run)).at(-1)).toBe('CANCELLED');
    expect(await env.ports.deployments.pinnedRuns(scope, codeManifest('v1').deploymentId, 5)).toEqual([]);
  });

  test('makes the running workflow task roll back the completed steps', async () => {
    const { env, run, code } = await startCodeRun(
      [[functionCommand('a', { hasRollback: true })], [functionCommand('b', { hasRollback: true })], [functionCommand('c')]],
      {
        stepFunction: (key, _attempt, signal) => (key === 'c' ? whenAborted(signal) : key),
      },
    );
    const running = handleAllMessages(env);
    await waitUntilIdle();
    await cancelRun(env.worker, run, 'enough');
    expect(await statusOf(env, run)).toBe('running');
    env.ports.clock.advance(seconds(5));
    await running;
    expect(code.tasks[0]?.cancelled).toEqual(['enough']);
    expect((await summarizeEvents(env, run)).slice(4)).toEqual([
      'UNDO',
      'ask(rollback:b)',
      'done(rollback:b) ask(rollback:a)',
      'done(rollback:a) done(.workflow-task.1) CANCELLED',
    ]);
    expect(code.tasks).toHaveLength(1);
  });

  test('of a waiting run starts a workflow task for the rollback, and the wait ends', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a', { hasRollback: true })], [paid]]);
    await env.settle();
    await cancelRun(env.worker, run, 'enough');
    expect((await env.ports.signals.read({ ...scope, name: 'paid', correlation: '17' })).waiters).toEqual([]);
    await env.settle();
    expect(code.startedSteps).toEqual(['a#1', 'rollback:a#1']);
    expect(await statusOf(env, run)).toBe('cancelled');
    expect(await cancelRun(env.worker, run)).toEqual({ kind: 'cancelled' });
  });
});

describe('commits of other writers', () => {
  test('a signal committed first rejects the command batch, and the code receives the new history', async () => {
    const work = gate();
    const { env, run, code } = await startCodeRun([[paid, functionCommand('a')], [functionCommand('b')]], {
      stepFunction: (key) => (key === 'a' ? work.promise : key),
    });
    const running = handleAllMessages(env);
    await waitUntilIdle();
    await sendPaidSignal(env);
    work.open();
    await running;
    expect(code.tasks[0]?.refusedBatches).toBe(1);
    expect((await summarizeEvents(env, run)).slice(2)).toEqual([
      'done(paid)',
      'done(a) ask(b)',
      'done(b) done(.workflow-task.1) COMPLETED',
    ]);
    expect(code.startedSteps).toEqual(['a#1', 'b#1']);
  });

  test('while a step runs, the log is checked every three seconds, and the code continues with new results', async () => {
    const work = gate();
    const { env, run, code } = await startCodeRun([[paid, functionCommand('a')]], { stepFunction: () => work.promise });
    const running = handleAllMessages(env);
    await waitUntilIdle();
    await sendPaidSignal(env);
    env.ports.clock.advance(seconds(3));
    await waitUntilIdle();
    expect(code.tasks[0]?.overtakenCount).toBe(1);
    env.ports.clock.advance(seconds(3));
    await waitUntilIdle();
    expect(code.tasks[0]?.overtakenCount).toBe(1);
    work.open();
    await running;
    expect(await statusOf(env, run)).toBe('completed');
    // The code has the new history, so its next batch is not overtaken.
    expect(code.tasks[0]?.refusedBatches).toBe(0);
  });

  test('a command batch older than the new history is overtaken, even while the history is in delivery', async () => {
    const notified = Promise.withResolvers<void>();
    const answers: unknown[] = [];
    const task = Promise.withResolvers<WorkflowTaskEnd>();
    const asks: CommandBatch = {
      entries: [{ kind: 'scheduled', command: functionCommand('b') }],
      next: 'running',
      historiesReceived: 0,
    };
    const { env, run } = await startCodeRun([], {
      programs: {
        start: (_scope, _manifest, _task, host) => {
          const say = async (): Promise<void> => {
            const first: CommandBatch = {
              entries: [
                { kind: 'scheduled', command: paid },
                { kind: 'scheduled', command: functionCommand('a') },
              ],
              next: 'running',
            };
            answers.push(await host.commitBatch({ ...first, historiesReceived: 0 }));
            await notified.promise;
            answers.push(await host.commitBatch(asks), await host.commitBatch(asks));
            task.resolve({ kind: 'finished' });
          };
          void say();
          return {
            ended: task.promise,
            replaceHistory: () => notified.resolve(),
            cancel: () => {},
            handOff: () => {},
            kill: async () => {},
          };
        },
      },
    });
    const running = handleAllMessages(env);
    await waitUntilIdle();
    await sendPaidSignal(env);
    env.ports.clock.advance(seconds(3));
    await running;
    expect(answers).toMatchObject([{ kind: 'committed', commit: 2 }, { kind: 'overtaken' }, { kind: 'committed', commit: 4 }]);
    expect((await summarizeEvents(env, run)).slice(2)).toEqual(['done(paid)', 'ask(b)']);
  });

  test('of two workflow tasks of one run, one stops; each step has one completion', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')], [functionCommand('c')]]);
    env.ports.jobs.takeMessages();
    await Promise.all([env.take(workflowTaskJob(run)), env.take(workflowTaskJob(run, { resend: 1 }))]);
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    const eventSummary = (await summarizeEvents(env, run)).join(' ');
    for (const key of ['a', 'b', 'c']) expect(eventSummary.split(`done(${key})`)).toHaveLength(2);
    expect(code.tasks).toHaveLength(2);
    expect(code.startedSteps.filter((each) => each.startsWith('b'))).toHaveLength(1);
  });

  test('a workflow task whose step another one has taken over stops, and its step result changes nothing', async () => {
    const [first, second] = [gate(), gate()];
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')]], {
      stepFunction: (key, attempt) => (key === 'b' ? key : attempt === firstAttempt ? first.promise : second.promise),
    });
    const running = handleAllMessages(env);
    await waitUntilIdle();
    const other = env.take(workflowTaskJob(run, { resend: 1 }));
    await waitUntilIdle();
    first.open();
    await running;
    second.open();
    await other;
    expect(await statusOf(env, run)).toBe('completed');
    expect(code.tasks[0]).toMatchObject({ refusedBatches: 0, end: { kind: 'finished' } });
    expect(code.tasks[0]?.batches).toHaveLength(2);
    expect(code.startedSteps).toEqual(['a#1', 'a#2', 'b#1']);
  });

  test('a commit that is not visible to the code causes no replay', async () => {
    const work = gate();
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')]], {
      stepFunction: (key) => (key === 'a' ? work.promise : key),
    });
    const running = handleAllMessages(env);
    await waitUntilIdle();
    await resumeRun(env.worker, run, { reason: 'asked' });
    env.ports.clock.advance(seconds(3));
    await waitUntilIdle();
    work.open();
    await running;
    expect(code.tasks[0]).toMatchObject({ refusedBatches: 0, overtakenCount: 0 });
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a put whose answer was lost is recognised by its nonce', async () => {
    let lost = 0;
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')]], {
      wrap: (deps) => ({
        ...deps,
        clock: {
          now: () => deps.clock.now(),
          sleep: async (wait, signal) => (wait < 1_000 ? undefined : deps.clock.sleep(wait, signal)),
        },
        log: overrideMethods(deps.log, {
          put: async (...given) => {
            const answer = await deps.log.put(...given);
            if ((lost += 1) % 2 === 1) throw new Unavailable('the answer');
            return answer;
          },
        }),
      }),
    });
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    expect(await commitsOf(env, run)).toHaveLength(4);
    expect(code.tasks[0]?.refusedBatches).toBe(0);
  });
});

describe('messages', () => {
  test('a duplicate changes nothing and sends nothing; a redelivery dispatches lost effects', async () => {
    const { env, run, code } = await startCodeRun([[paid]]);
    const [job] = env.ports.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    await env.take(job);
    const before = await commitsOf(env, run);
    env.ports.jobs.takeDue();
    await env.take(job);
    expect(env.ports.jobs.messages).toEqual([]);
    expect(env.ports.jobs.delayed).toEqual([]);
    // Its wait was never registered.
    const signalKey = { ...scope, name: 'paid', correlation: '17' };
    const [waiter] = (await env.ports.signals.read(signalKey)).waiters;
    if (waiter !== undefined) await env.ports.signals.removeWaiter(signalKey, waiter);
    await env.take(job, { isRedelivered: true });
    for (const look of env.ports.jobs.takeDue()) await env.take(look);
    expect((await env.ports.signals.read(signalKey)).waiters).toHaveLength(1);
    expect(await commitsOf(env, run)).toEqual(before);
    expect(code.tasks).toHaveLength(1);
  });

  test('the sweep redispatches a workflow task whose message was lost', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')]]);
    env.ports.jobs.takeMessages();
    env.ports.clock.advance(minutes(2));
    expect(await sweepRun(env.worker, run)).toBe(true);
    expect(env.ports.jobs.messages).toMatchObject([{ kind: 'workflow_task', nodeId: '.workflow-task.1', resend: 1 }]);
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a long step sends heartbeats, and its workflow task is not redispatched', async () => {
    const work = gate();
    const { env, run } = await startCodeRun([[functionCommand('a')]], { stepFunction: () => work.promise });
    const running = handleAllMessages(env);
    for (let second = 0; second < 300; second += 3) {
      await waitUntilIdle();
      env.ports.clock.advance(seconds(3));
    }
    await waitUntilIdle();
    expect(await sweepRun(env.worker, run)).toBe(false);
    expect(env.ports.jobs.messages).toEqual([]);
    work.open();
    await running;
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a step whose workflow task crashed starts again, as a new attempt without a failure', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]], {
      stepFunction: (key, attempt) => (attempt === firstAttempt ? new Promise(() => {}) : key),
    });
    void handleAllMessages(env);
    await waitUntilIdle();
    await env.take(workflowTaskJob(run), { isRedelivered: true });
    // A recheck looks for the lost effects of the crashed task, and this task is not redispatched meanwhile.
    expect(env.ports.jobs.delayed.map(({ job }) => job.kind)).toContain('recheck');
    expect(await env.ports.log.heartbeats(run)).toMatchObject([{ node: '.workflow-task.1', resends: 0 }]);
    expect(await statusOf(env, run)).toBe('completed');
    expect(code.startedSteps).toEqual(['a#1', 'a#2']);
    expect(code.tasks[1]?.task.history.open).toMatchObject([{ key: 'a', attempt: 1, lostAttempts: 0 }]);
  });

  test.each(['before it', 'while it runs'])('a workflow task whose worker stops %s receives a hand-off request', async (when) => {
    const work = gate();
    const { env, code } = await startCodeRun([[functionCommand('a')]], { stepFunction: () => work.promise });
    const [job] = env.ports.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    const end = new AbortController();
    if (when === 'before it') end.abort();
    const running = env.take(job, { drainSignal: end.signal });
    await waitUntilIdle();
    expect(code.tasks[0]?.handoffRequests).toBe(when === 'before it' ? 1 : 0);
    end.abort();
    expect(code.tasks[0]?.handoffRequests).toBe(1);
    work.open();
    await running;
  });

  test('a workflow task whose workers crash in every delivery for an hour fails the run with a clear error', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')]]);
    env.ports.jobs.takeMessages();
    for (let crash = 0; crash < 3; crash += 1) {
      expect(await statusOf(env, run)).toBe('pending');
      await deadLetterAfterCrash(env, workflowTaskJob(run));
      env.ports.clock.advance(minutes(30));
    }
    expect(await errorOf(env, run)).toMatchObject({ cause: 'lost', code: 'workflow_task_lost' });
  });

  test('a message that is much too early is sent again; one that is slightly early waits in the worker', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]], {
      stepFunction: (key, attempt) => {
        if (attempt === firstAttempt) throw new RetryAfter(minutes(2));
        return key;
      },
    });
    await handleAllMessages(env);
    const [delayed] = env.ports.jobs.delayed.flatMap(({ job }) => (job.kind === 'workflow_task' ? [job] : []));
    if (delayed === undefined) throw new Error('no workflow task was sent');
    env.ports.jobs.takeDue();
    const before = env.ports.jobs.delayed.length;
    await env.take(delayed);
    expect(env.ports.jobs.delayed).toHaveLength(before + 1);
    env.ports.clock.advance(durationMs(minutes(2) - seconds(2)));
    const running = env.take(delayed);
    await waitUntilIdle();
    expect(code.tasks).toHaveLength(1);
    env.ports.clock.advance(seconds(2));
    await running;
    expect(await statusOf(env, run)).toBe('completed');
    expect(code.startedSteps).toEqual(['a#1', 'a#2']);
  });
});

describe('failed workflow tasks', () => {
  test('a step function that crashes its thread has failed, and another workflow task retries it', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a'), functionCommand('b')]], {
      stepFunction: (key, attempt) => {
        if (key === 'b' && attempt === firstAttempt) throw new WorkflowTaskCrash('exit 1');
        return key;
      },
    });
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    const failures = (await commitsOf(env, run)).flatMap(({ events }) =>
      events.flatMap((event) => (event.type === 'NODE_RETRIED' ? [event.failure] : [])),
    );
    expect(failures).toContainEqual(expect.objectContaining({ code: 'code_crashed', message: 'exit 1' }));
    expect(code.tasks).toHaveLength(2);
  });

  test('a step that exceeds its function’s time is killed, and has failed', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]], {
      stepFunction: (key, attempt) => (attempt === firstAttempt ? new Promise(() => {}) : key),
    });
    const running = handleAllMessages(env);
    for (let minute = 0; minute < 15; minute += 1) {
      await waitUntilIdle();
      env.ports.clock.advance(minutes(1));
    }
    await running;
    expect(code.tasks[0]?.end).toMatchObject({ kind: 'timed_out' });
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    const [failure] = (await commitsOf(env, run)).flatMap(({ events }) =>
      events.flatMap((event) => (event.type === 'NODE_RETRIED' ? [event.failure] : [])),
    );
    expect(failure).toMatchObject({ cause: 'timeout', code: 'code_timed_out' });
  });

  test.each<[string, WorkflowTaskEnd]>([
    ['replay_diverged', { kind: 'nondeterministic', message: 'charge is not sleep', details: { step: 'charge' } }],
    ['artifact_unusable', { kind: 'unloadable', message: 'no such file' }],
    ['workflow_unknown', { kind: 'unknown_workflow', message: 'no order' }],
  ])('%s defers the workflow task with growing delays, without end and without a failed attempt', async (codeOf, end) => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]]);
    code.immediateEnd = end;
    const began = env.ports.clock.now();
    for (let tries = 0; tries < 12; tries += 1) {
      await handleAllMessages(env);
      expect(await getRun(env.worker, run, true)).toMatchObject({
        run: {
          nodes: [{ node: { id: '.workflow-task.1', type: 'workflow_task' }, state: { status: 'queued', attempt: tries + 2 } }],
        },
      });
      const [next] = env.ports.jobs.delayed.flatMap(({ job, dueAt }) => (job.kind === 'workflow_task' ? [{ job, dueAt }] : []));
      if (next === undefined) throw new Error('the run has no pending workflow task');
      env.ports.jobs.delayed.length = 0;
      env.ports.clock.set(next.dueAt);
      await env.ports.jobs.send([next.job]);
    }
    // 5, 10, 20 … 300 s.
    expect(env.ports.clock.now() - began).toBe((5 + 10 + 20 + 40 + 80 + 160 + 6 * 300) * 1_000);
    const failures = (await commitsOf(env, run)).flatMap(({ events }) =>
      events.flatMap((event) => (event.type === 'NODE_RETRIED' ? [event.failure] : [])),
    );
    expect(failures).toHaveLength(12);
    expect(failures[0]).toMatchObject({ code: codeOf, message: 'message' in end ? end.message : '' });
    code.immediateEnd = undefined;
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    expect(code.startedSteps).toEqual(['a#1']);
  });

  test('a nondeterministic run that is cancelled ends in minutes, and names the steps that are not rolled back', async () => {
    const { env, run, code } = await startCodeRun([
      [functionCommand('hotel', { hasRollback: true })],
      [functionCommand('note')],
      [paid],
    ]);
    await env.settle();
    code.immediateEnd = { kind: 'nondeterministic', message: 'charge is not sleep', details: { step: 'charge' } };
    await resumeRun(env.worker, run, { reason: 'go on' });
    for (let tries = 0; tries < 7; tries += 1) {
      await handleAllMessages(env);
      env.ports.clock.advance(minutes(5));
      await env.ports.jobs.send(env.ports.jobs.takeDue().flatMap((job) => (job.kind === 'workflow_task' ? [job] : [])));
    }
    expect(await statusOf(env, run)).toBe('running');
    const cancelled = env.ports.clock.now();
    await cancelRun(env.worker, run, 'enough');
    await env.settle();
    expect(env.ports.clock.now() - cancelled).toBeLessThan(minutes(10));
    expect(await errorOf(env, run)).toMatchObject({
      code: 'rollback_failed',
      details: {
        reason: 'enough',
        rollbackFailures: [{ step: 'hotel', message: 'its rollback did not finish: charge is not sleep' }],
      },
    });
    expect(code.startedSteps).toEqual(['hotel#1', 'note#1']);
  });

  test('a missing deployment defers the workflow task', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')]]);
    await env.ports.deployments.remove(scope, codeManifest('v1').deploymentId, env.ports.clock.now());
    await handleAllMessages(env);
    expect((await summarizeEvents(env, run)).at(-1)).toBe('again(.workflow-task.1)');
  });

  test('past its deadline a run has timed out, and its workflow task is cancelled', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]], {
      stepFunction: (_key, _attempt, signal) => whenAborted(signal),
    });
    const running = handleAllMessages(env);
    await waitUntilIdle();
    env.ports.clock.advance(days(8));
    await sweepRun(env.worker, run);
    await running;
    expect(await errorOf(env, run)).toMatchObject({ code: 'deadline_exceeded' });
    expect((await summarizeEvents(env, run)).at(-1)).toMatch(/TIMED OUT$/);
    expect(code.tasks).toHaveLength(1);
  });

  test('effects that cannot be dispatched are dispatched by the redelivery', async () => {
    let isDown = false;
    const { env, run } = await startCodeRun([[functionCommand('b')], [paid]], {
      wrap: (deps) => ({
        ...deps,
        jobs: overrideMethods(deps.jobs, {
          sendDelayed: async (job, delay) => {
            if (isDown && job.kind === 'waits') throw new Unavailable('the delay queue');
            return deps.jobs.sendDelayed(job, delay);
          },
        }),
      }),
    });
    isDown = true;
    const [job] = env.ports.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    await expect(env.take(job)).rejects.toThrow(Unavailable);
    isDown = false;
    await env.take(job, { isRedelivered: true });
    await sendPaidSignal(env);
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
  });
});

describe('each step is committed before it begins', () => {
  const commitsFirst = async (job: Partial<WorkflowTaskJob>, isRedelivered = false) => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]]);
    env.ports.jobs.takeMessages();
    await env.take(workflowTaskJob(run, job), { isRedelivered });
    return code.tasks.map(({ task }) => task.shouldCommitBeforeSteps === true);
  };

  test('not at the first try of a workflow task', async () => {
    expect(await commitsFirst({})).toEqual([false]);
  });

  test('after a redelivery, and if the job was sent again', async () => {
    expect(await commitsFirst({}, true)).toEqual([true]);
    expect(await commitsFirst({ resend: 1 })).toEqual([true]);
  });

  test('after the thread of the code crashed', async () => {
    const { env, code } = await startCodeRun([[functionCommand('a')]]);
    code.immediateEnd = { kind: 'crashed', message: 'out of memory', running: [] };
    await handleAllMessages(env);
    code.immediateEnd = undefined;
    await env.settle();
    expect(code.tasks.map(({ task }) => task.shouldCommitBeforeSteps === true)).toEqual([false, true]);
  });
});
