/** What goes wrong with runs of code that is replayed: others who commit, drives that end badly, messages that are lost or come twice. */
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

const driveJob = (run: RunAddress, facts: Partial<WorkflowTaskJob> = {}): WorkflowTaskJob => ({
  kind: 'workflow_task',
  run,
  commit: commitNo(1),
  nodeId: nodeId('.workflow-task.1'),
  iteration: topLevel,
  attempt: firstAttempt,
  resend: 0,
  creation: codeCreation(run),
  ...facts,
});

const errorOf = async (home: TestEnv, run: RunAddress) => {
  const { progress } = (await home.fold(run)).state;
  return progress.status === 'failed' ? progress.error : undefined;
};

const paid = { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '17' } as const;
/** After the worker has noted the waits that were begun. */
const pay = async (home: TestEnv) => {
  for (const job of home.ports.jobs.takeDue()) await home.take(job);
  return sendSignal(home.worker, scope, { name: 'paid', correlation: '17', payload: 5, bodyHash: 'h', idempotencyKey: 'k2' });
};

/** A body that ends when the test says so. */
const gate = () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { promise, open: () => resolve('open') };
};

describe('a cancel', () => {
  test('reaches the body at work within five seconds, ends the run, and what the body comes to changes nothing', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')]], {
      body: (key, _attempt, signal) => (key === 'b' ? whenAborted(signal) : key),
    });
    const driving = handleAllMessages(env);
    await waitUntilIdle();
    expect(await cancelRun(env.worker, run, 'enough')).toEqual({ kind: 'cancelled' });
    env.ports.clock.advance(seconds(5));
    await driving;
    expect(code.tasks[0]?.cancelled).toEqual(['enough']);
    expect((await summarizeEvents(env, run)).at(-1)).toBe('CANCELLED');
    expect(await env.ports.deployments.pinnedRuns(scope, codeManifest('v1').deploymentId, 5)).toEqual([]);
  });

  test('has undone what was done, by the drive that is at work', async () => {
    const { env, run, code } = await startCodeRun(
      [[functionCommand('a', { hasRollback: true })], [functionCommand('b', { hasRollback: true })], [functionCommand('c')]],
      {
        body: (key, _attempt, signal) => (key === 'c' ? whenAborted(signal) : key),
      },
    );
    const driving = handleAllMessages(env);
    await waitUntilIdle();
    await cancelRun(env.worker, run, 'enough');
    expect(await statusOf(env, run)).toBe('running');
    env.ports.clock.advance(seconds(5));
    await driving;
    expect(code.tasks[0]?.cancelled).toEqual(['enough']);
    expect((await summarizeEvents(env, run)).slice(4)).toEqual([
      'UNDO',
      'ask(rollback:b)',
      'done(rollback:b) ask(rollback:a)',
      'done(rollback:a) done(.workflow-task.1) CANCELLED',
    ]);
    expect(code.tasks).toHaveLength(1);
  });

  test('of a run that waits is undone by a drive of its own, and the wait is left', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a', { hasRollback: true })], [paid]]);
    await env.settle();
    await cancelRun(env.worker, run, 'enough');
    expect((await env.ports.signals.read({ ...scope, name: 'paid', correlation: '17' })).waiters).toEqual([]);
    await env.settle();
    expect(code.begun).toEqual(['a#1', 'rollback:a#1']);
    expect(await statusOf(env, run)).toBe('cancelled');
    expect(await cancelRun(env.worker, run)).toEqual({ kind: 'cancelled' });
  });
});

describe('others who commit', () => {
  test('a signal that comes first makes the turn not happen, and the code is told before it says anything more', async () => {
    const work = gate();
    const { env, run, code } = await startCodeRun([[paid, functionCommand('a')], [functionCommand('b')]], {
      body: (key) => (key === 'a' ? work.promise : key),
    });
    const driving = handleAllMessages(env);
    await waitUntilIdle();
    await pay(env);
    work.open();
    await driving;
    expect(code.tasks[0]?.refused).toBe(1);
    expect((await summarizeEvents(env, run)).slice(2)).toEqual([
      'done(paid)',
      'done(a) ask(b)',
      'done(b) done(.workflow-task.1) COMPLETED',
    ]);
    expect(code.begun).toEqual(['a#1', 'b#1']);
  });

  test('while a body is at work it is looked every three seconds, and the code goes on with what it finds', async () => {
    const work = gate();
    const { env, run, code } = await startCodeRun([[paid, functionCommand('a')]], { body: () => work.promise });
    const driving = handleAllMessages(env);
    await waitUntilIdle();
    await pay(env);
    env.ports.clock.advance(seconds(3));
    await waitUntilIdle();
    expect(code.tasks[0]?.overtakenCount).toBe(1);
    env.ports.clock.advance(seconds(3));
    await waitUntilIdle();
    expect(code.tasks[0]?.overtakenCount).toBe(1);
    work.open();
    await driving;
    expect(await statusOf(env, run)).toBe('completed');
    // It had heard of it: nothing that it says then is late.
    expect(code.tasks[0]?.refused).toBe(0);
  });

  test('a turn from before the news is late, though the news is on its way to the code', async () => {
    const told = Promise.withResolvers<void>();
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
            await told.promise;
            answers.push(await host.commitBatch(asks), await host.commitBatch(asks));
            task.resolve({ kind: 'finished' });
          };
          void say();
          return {
            ended: task.promise,
            replaceHistory: () => told.resolve(),
            cancel: () => {},
            handOff: () => {},
            kill: async () => {},
          };
        },
      },
    });
    const driving = handleAllMessages(env);
    await waitUntilIdle();
    await pay(env);
    env.ports.clock.advance(seconds(3));
    await driving;
    expect(answers).toMatchObject([{ kind: 'committed', commit: 2 }, { kind: 'overtaken' }, { kind: 'committed', commit: 4 }]);
    expect((await summarizeEvents(env, run)).slice(2)).toEqual(['done(paid)', 'ask(b)']);
  });

  test('of two drives of one run, one stops; each step has one completion', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')], [functionCommand('c')]]);
    env.ports.jobs.takeMessages();
    await Promise.all([env.take(driveJob(run)), env.take(driveJob(run, { resend: 1 }))]);
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    const story = (await summarizeEvents(env, run)).join(' ');
    for (const key of ['a', 'b', 'c']) expect(story.split(`done(${key})`)).toHaveLength(2);
    expect(code.tasks).toHaveLength(2);
    expect(code.begun.filter((each) => each.startsWith('b'))).toHaveLength(1);
  });

  test('a drive whose step another one has taken over stops, whatever its body comes to', async () => {
    const [first, second] = [gate(), gate()];
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')]], {
      body: (key, attempt) => (key === 'b' ? key : attempt === firstAttempt ? first.promise : second.promise),
    });
    const driving = handleAllMessages(env);
    await waitUntilIdle();
    const other = env.take(driveJob(run, { resend: 1 }));
    await waitUntilIdle();
    first.open();
    await driving;
    second.open();
    await other;
    expect(await statusOf(env, run)).toBe('completed');
    expect(code.tasks[0]).toMatchObject({ refused: 0, end: { kind: 'finished' } });
    expect(code.tasks[0]?.turns).toHaveLength(2);
    expect(code.begun).toEqual(['a#1', 'a#2', 'b#1']);
  });

  test('what changes nothing that the code sees costs it no replay', async () => {
    const work = gate();
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')]], {
      body: (key) => (key === 'a' ? work.promise : key),
    });
    const driving = handleAllMessages(env);
    await waitUntilIdle();
    await resumeRun(env.worker, run, { reason: 'asked' });
    env.ports.clock.advance(seconds(3));
    await waitUntilIdle();
    work.open();
    await driving;
    expect(code.tasks[0]).toMatchObject({ refused: 0, overtakenCount: 0 });
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a put whose answer was lost is won by its own item', async () => {
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
    expect(code.tasks[0]?.refused).toBe(0);
  });
});

describe('messages', () => {
  test('one that comes twice changes nothing and sends nothing; one that comes back sends what was lost', async () => {
    const { env, run, code } = await startCodeRun([[paid]]);
    const [job] = env.ports.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    await env.take(job);
    const before = await commitsOf(env, run);
    env.ports.jobs.takeDue();
    await env.take(job);
    expect(env.ports.jobs.messages).toEqual([]);
    expect(env.ports.jobs.delayed).toEqual([]);
    // Its wait was never entered.
    const place = { ...scope, name: 'paid', correlation: '17' };
    const [waiter] = (await env.ports.signals.read(place)).waiters;
    if (waiter !== undefined) await env.ports.signals.removeWaiter(place, waiter);
    await env.take(job, { isRedelivered: true });
    for (const look of env.ports.jobs.takeDue()) await env.take(look);
    expect((await env.ports.signals.read(place)).waiters).toHaveLength(1);
    expect(await commitsOf(env, run)).toEqual(before);
    expect(code.tasks).toHaveLength(1);
  });

  test('a drive whose message is lost is sent again by the sweep, past what may be dead', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')]]);
    env.ports.jobs.takeMessages();
    env.ports.clock.advance(minutes(2));
    expect(await sweepRun(env.worker, run)).toBe(true);
    expect(env.ports.jobs.messages).toMatchObject([{ kind: 'workflow_task', nodeId: '.workflow-task.1', resend: 1 }]);
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a long body beats, and is not sent again', async () => {
    const work = gate();
    const { env, run } = await startCodeRun([[functionCommand('a')]], { body: () => work.promise });
    const driving = handleAllMessages(env);
    for (let second = 0; second < 300; second += 3) {
      await waitUntilIdle();
      env.ports.clock.advance(seconds(3));
    }
    await waitUntilIdle();
    expect(await sweepRun(env.worker, run)).toBe(false);
    expect(env.ports.jobs.messages).toEqual([]);
    work.open();
    await driving;
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a body whose drive died is begun again, as another attempt that nobody counts as failed', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]], {
      body: (key, attempt) => (attempt === firstAttempt ? new Promise(() => {}) : key),
    });
    void handleAllMessages(env);
    await waitUntilIdle();
    await env.take(driveJob(run), { isRedelivered: true });
    // What the dead one left unsent is looked for, and this drive is not asked for again meanwhile.
    expect(env.ports.jobs.delayed.map(({ job }) => job.kind)).toContain('recheck');
    expect(await env.ports.log.heartbeats(run)).toMatchObject([{ node: '.workflow-task.1', resends: 0 }]);
    expect(await statusOf(env, run)).toBe('completed');
    expect(code.begun).toEqual(['a#1', 'a#2']);
    expect(code.tasks[1]?.task.history.open).toMatchObject([{ key: 'a', attempt: 1, lostAttempts: 0 }]);
  });

  test.each(['before it', 'while it is at work'])('a drive whose worker is to end %s is asked to hand on', async (when) => {
    const work = gate();
    const { env, code } = await startCodeRun([[functionCommand('a')]], { body: () => work.promise });
    const [job] = env.ports.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    const end = new AbortController();
    if (when === 'before it') end.abort();
    const driving = env.take(job, { drainSignal: end.signal });
    await waitUntilIdle();
    expect(code.tasks[0]?.handoffRequests).toBe(when === 'before it' ? 1 : 0);
    end.abort();
    expect(code.tasks[0]?.handoffRequests).toBe(1);
    work.open();
    await driving;
  });

  test('one whose worker died in every delivery for an hour fails the run, and says so', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')]]);
    env.ports.jobs.takeMessages();
    for (let death = 0; death < 3; death += 1) {
      expect(await statusOf(env, run)).toBe('pending');
      await deadLetterAfterCrash(env, driveJob(run));
      env.ports.clock.advance(minutes(30));
    }
    expect(await errorOf(env, run)).toMatchObject({ cause: 'lost', code: 'workflow_task_lost' });
  });

  test('one that comes much too early waits again, and one that comes a little early waits here', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]], {
      body: (key, attempt) => {
        if (attempt === firstAttempt) throw new RetryAfter(minutes(2));
        return key;
      },
    });
    await handleAllMessages(env);
    const [delayed] = env.ports.jobs.delayed.flatMap(({ job }) => (job.kind === 'workflow_task' ? [job] : []));
    if (delayed === undefined) throw new Error('no drive was asked for');
    env.ports.jobs.takeDue();
    const before = env.ports.jobs.delayed.length;
    await env.take(delayed);
    expect(env.ports.jobs.delayed).toHaveLength(before + 1);
    env.ports.clock.advance(durationMs(minutes(2) - seconds(2)));
    const driving = env.take(delayed);
    await waitUntilIdle();
    expect(code.tasks).toHaveLength(1);
    env.ports.clock.advance(seconds(2));
    await driving;
    expect(await statusOf(env, run)).toBe('completed');
    expect(code.begun).toEqual(['a#1', 'a#2']);
  });
});

describe('drives that end badly', () => {
  test('a body that breaks the thread has failed with it, and is tried again by another drive', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a'), functionCommand('b')]], {
      body: (key, attempt) => {
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

  test('what does not end in its function’s time is ended, and has failed', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]], {
      body: (key, attempt) => (attempt === firstAttempt ? new Promise(() => {}) : key),
    });
    const driving = handleAllMessages(env);
    for (let minute = 0; minute < 15; minute += 1) {
      await waitUntilIdle();
      env.ports.clock.advance(minutes(1));
    }
    await driving;
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
  ])('%s is put off, later each time, without end and for nobody’s attempt', async (codeOf, end) => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]]);
    code.otherwise = end;
    const began = env.ports.clock.now();
    for (let tries = 0; tries < 12; tries += 1) {
      await handleAllMessages(env);
      expect(await getRun(env.worker, run, true)).toMatchObject({
        run: {
          nodes: [{ node: { id: '.workflow-task.1', type: 'workflow_task' }, state: { status: 'queued', attempt: tries + 2 } }],
        },
      });
      const [next] = env.ports.jobs.delayed.flatMap(({ job, dueAt }) => (job.kind === 'workflow_task' ? [{ job, dueAt }] : []));
      if (next === undefined) throw new Error('nobody drives the run any more');
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
    code.otherwise = undefined;
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    expect(code.begun).toEqual(['a#1']);
  });

  test('a run that diverged and is cancelled ends in minutes, and says which steps are not undone', async () => {
    const { env, run, code } = await startCodeRun([
      [functionCommand('hotel', { hasRollback: true })],
      [functionCommand('note')],
      [paid],
    ]);
    await env.settle();
    code.otherwise = { kind: 'nondeterministic', message: 'charge is not sleep', details: { step: 'charge' } };
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
    expect(code.begun).toEqual(['hotel#1', 'note#1']);
  });

  test('a deployment that is gone is waited for', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')]]);
    await env.ports.deployments.remove(scope, codeManifest('v1').deploymentId, env.ports.clock.now());
    await handleAllMessages(env);
    expect((await summarizeEvents(env, run)).at(-1)).toBe('again(.workflow-task.1)');
  });

  test('past its deadline a run has timed out, and its drive is told to end', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]], {
      body: (_key, _attempt, signal) => whenAborted(signal),
    });
    const driving = handleAllMessages(env);
    await waitUntilIdle();
    env.ports.clock.advance(days(8));
    await sweepRun(env.worker, run);
    await driving;
    expect(await errorOf(env, run)).toMatchObject({ code: 'deadline_exceeded' });
    expect((await summarizeEvents(env, run)).at(-1)).toMatch(/TIMED OUT$/);
    expect(code.tasks).toHaveLength(1);
  });

  test('what cannot be sent is sent when the message comes back', async () => {
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
    await pay(env);
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
  });
});
