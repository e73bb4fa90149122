/** Code runs: the commits of a workflow task, waits, signals, child runs and reruns. */
import { describe, expect, test } from 'vitest';
import { deploymentId, workflowName as workflowNamed } from '../../lib/engine/ids.ts';
import { after, days, durationMs, hours, minutes, seconds } from '../../lib/engine/time.ts';
import { getRun } from '../../lib/service/runs/get-run.ts';
import { rerunRun } from '../../lib/service/runs/rerun-run.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { sendSignal } from '../../lib/service/runs/send-signal.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import {
  startCodeRun,
  codeManifest,
  commitsOf,
  waitUntilIdle,
  deploy,
  statusOf,
  summarizeEvents,
  handleAllMessages,
  whenAborted,
} from './code-test-env.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';
import { functionCommand } from './scripted-programs.ts';
import { overrideMethods } from './override-methods.ts';

describe('a workflow task', () => {
  test('commits a chain of three steps in four commits after the head', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')], [functionCommand('b')], [functionCommand('c')]]);
    await env.settle();
    expect(await summarizeEvents(env, run)).toEqual([
      'ask(.workflow-task.1)',
      'ask(a)',
      'done(a) ask(b)',
      'done(b) ask(c)',
      'done(c) done(.workflow-task.1) COMPLETED',
    ]);
    expect(code.startedSteps).toEqual(['a#1', 'b#1', 'c#1']);
    expect((await env.ports.log.head(run))?.projection.status).toBe('completed');
    expect(await env.ports.deployments.pinnedRuns(scope, deploymentId('v1'), 5)).toEqual([]);
  });

  test('schedules ten parallel steps in one commit', async () => {
    const keys = Array.from({ length: 10 }, (_, index) => `s${index}`);
    const { env, run } = await startCodeRun([keys.map((key) => functionCommand(key))]);
    await env.settle();
    const eventSummary = await summarizeEvents(env, run);
    expect(eventSummary[1]).toBe(keys.map((key) => `ask(${key})`).join(' '));
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('receives its run, its input, its replay version, and the time to hand off', async () => {
    const { env, run, code } = await startCodeRun([[functionCommand('a')]]);
    const now = env.ports.clock.now();
    await env.settle();
    expect(code.tasks[0]?.task).toMatchObject({
      run: { runId: run.runId, workflowName: 'order', version: '1', createdAt: now, deadlineAt: after(now, days(365)) },
      replayVersion: 1,
      input: {},
      history: { entries: [], open: [], attempt: 1 },
      handOffAt: after(now, durationMs(minutes(15) - seconds(5) - seconds(60))),
    });
  });

  test('receives offloaded values in its history', async () => {
    const large = 'x'.repeat(200_000);
    const { env, run, code } = await startCodeRun(
      [
        [functionCommand('a')],
        [{ kind: 'sleep', key: 'nap', wakeAt: after(await newYear(), minutes(5)) }],
        [functionCommand('b')],
      ],
      {
        stepFunction: () => large,
      },
    );
    await env.settle();
    expect(JSON.stringify(await commitsOf(env, run)).length).toBeLessThan(20_000);
    expect(code.tasks[1]?.task.history.entries).toContainEqual({
      kind: 'settled',
      key: 'a',
      result: expect.objectContaining({ output: large }),
    });
  });
});

const newYear = async () => createTestEnv().ports.clock.now();

describe('waits', () => {
  test('a sleep suspends the workflow task, and its end dispatches the next one', async () => {
    const at = after(await newYear(), hours(3));
    const { env, run, code } = await startCodeRun([
      [functionCommand('a')],
      [{ kind: 'sleep', key: 'nap', wakeAt: at }],
      [functionCommand('b')],
    ]);
    await env.settle();
    expect(await summarizeEvents(env, run)).toEqual([
      'ask(.workflow-task.1)',
      'ask(a)',
      'done(a) sleep(nap) done(.workflow-task.1)',
      'done(nap) ask(.workflow-task.2)',
      'ask(b)',
      'done(b) done(.workflow-task.2) COMPLETED',
    ]);
    expect(code.startedSteps).toEqual(['a#1', 'b#1']);
    expect(env.ports.clock.now()).toBeGreaterThanOrEqual(at);
  });

  test('a redelivered wake-up dispatches the workflow task of the late put of its crashed worker', async () => {
    const at = after(await newYear(), minutes(5));
    let late: (() => Promise<unknown>) | undefined;
    const { env, run } = await startCodeRun([[{ kind: 'sleep', key: 'nap', wakeAt: at }]], {
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          put: async (...given) => {
            const [, { events }] = given;
            if (!events.some((event) => event.type === 'NODE_COMPLETED' && event.nodeId === 'nap')) return deps.log.put(...given);
            if (late === undefined) {
              late = () => deps.log.put(...given);
              throw new Error('crashed here, its put in flight');
            }
            await late();
            return deps.log.put(...given);
          },
        }),
      }),
    });
    await handleAllMessages(env);
    env.ports.clock.advance(minutes(5));
    const wake = env.ports.jobs.takeDue().find(({ kind }) => kind === 'wake');
    if (wake === undefined) throw new Error('no wake-up was sent');
    await expect(env.take(wake)).rejects.toThrow('its put in flight');
    env.ports.clock.advance(seconds(100));
    await env.take(wake, { isRedelivered: true });
    expect([...(await env.fold(run)).state.open.keys()]).toEqual(['.workflow-task.2']);
    expect(env.ports.jobs.takeMessages()).toMatchObject([{ kind: 'workflow_task', nodeId: '.workflow-task.2', resend: 1 }]);
  });

  test('a wake-up ends a sleep early, and a resume gives its reason and dispatches a workflow task', async () => {
    const at = after(await newYear(), hours(3));
    const one = await startCodeRun([[{ kind: 'sleep', key: 'nap', wakeAt: at }]]);
    await handleAllMessages(one.env);
    expect(await wakeRun(one.env.worker, one.run)).toEqual({ kind: 'woken', nodeIds: ['nap'] });
    await handleAllMessages(one.env);
    expect(await statusOf(one.env, one.run)).toBe('completed');
    expect(one.env.ports.clock.now()).toBeLessThan(at);

    const other = await startCodeRun([[{ kind: 'sleep', key: 'nap', wakeAt: at }]]);
    await handleAllMessages(other.env);
    expect(await resumeRun(other.env.worker, other.run, { reason: 'asked' })).toEqual({ kind: 'resumed', isReplay: false });
    await handleAllMessages(other.env);
    expect(await statusOf(other.env, other.run)).toBe('completed');
    const types = (await commitsOf(other.env, other.run)).flatMap(({ events }) => events.map(({ type }) => type));
    expect(types).toContain('RUN_RESUMED');
  });

  test('a later signal dispatches a workflow task, and an earlier one is matched at once', async () => {
    const wait = { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '17' } as const;
    const sendPaidSignal = (env: TestEnv) =>
      sendSignal(env.worker, scope, {
        name: 'paid',
        correlation: '17',
        payload: { sum: 5 },
        bodyHash: 'h',
        idempotencyKey: 'k2',
      });
    const one = await startCodeRun([[wait], [functionCommand('a')]]);
    await one.env.settle();
    expect(await statusOf(one.env, one.run)).toBe('running');
    expect(await sendPaidSignal(one.env)).toMatchObject({ isDelivered: true });
    await one.env.settle();
    expect(await statusOf(one.env, one.run)).toBe('completed');
    expect(one.code.tasks.at(-1)?.task.history.entries).toContainEqual({
      kind: 'settled',
      key: 'paid',
      result: expect.objectContaining({ output: { data: { sum: 5 } } }),
    });

    const other = await startCodeRun([[wait, functionCommand('beside')], [functionCommand('a')]], {
      stepFunction: (key, _attempt, signal) => (key === 'beside' ? whenAborted(signal) : key),
    });
    await sendPaidSignal(other.env);
    const driving = handleAllMessages(other.env);
    await waitUntilIdle();
    for (const job of other.env.ports.jobs.takeDue()) await other.env.take(job);
    other.env.ports.clock.advance(seconds(3));
    await waitUntilIdle();
    // The step function is still running, and the code has the signal.
    expect(other.code.tasks[0]?.overtakenCount).toBe(1);
    other.env.ports.clock.advance(minutes(20));
    await driving;
  });

  const send = { kind: 'signal-send', key: 'tell', signal: 'paid', correlation: '17', data: 1 } as const;
  const signalKey = { ...scope, name: 'paid', correlation: '17' };

  test('a signal sent by a step is stored for a wait, in a graph run or in its own run', async () => {
    const { env, run } = await startCodeRun([[send]]);
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    expect((await env.ports.signals.read(signalKey)).signals).toMatchObject([
      { signalId: expect.stringMatching(/^sig_/), state: 'free' },
    ]);

    const other = await startCodeRun([[send]]);
    await other.env.publish(workflow('waiter', 'a>s', { s: { name: 'paid', correlation: '17' } }));
    const waiter = await other.env.begin('waiter');
    for (const job of other.env.ports.jobs.takeSent()) await other.env.take(job);
    await handleAllMessages(other.env);
    for (const job of other.env.ports.jobs.takeDue()) await other.env.take(job);
    expect(await statusOf(other.env, waiter)).toBe('completed');
    expect((await other.env.ports.signals.read(signalKey)).signals).toMatchObject([{ state: 'taken' }]);

    const own = await startCodeRun([[send, { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '17' }]]);
    await own.env.settle();
    expect(await statusOf(own.env, own.run)).toBe('completed');
  });

  test('a signal that is too large fails its step permanently', async () => {
    const { env, run } = await startCodeRun([[{ ...send, correlation: 'x'.repeat(257) }]]);
    await env.settle();
    const { progress } = (await env.fold(run)).state;
    expect(progress).toMatchObject({ status: 'failed', error: { cause: 'invalid', code: 'signal_invalid' } });
  });

  test('a child run is started, and its end dispatches a workflow task of the caller', async () => {
    const { env, run, code } = await startCodeRun([[{ kind: 'workflow', key: 'sub', workflowName: 'flow', input: { n: 1 } }]]);
    await env.publish(workflow('flow', 'a>e'));
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    expect(code.tasks).toHaveLength(2);
  });

  test('a graph calls a code workflow, in a test run too', async () => {
    const { env } = await startCodeRun([[functionCommand('a')]]);
    await env.publish(workflow('caller', 'a>k', { k: { calls: 'order' } }));
    const caller = await env.begin('caller');
    await env.settle();
    expect(await statusOf(env, caller)).toBe('completed');
  });
});

describe('views, versions and reruns', () => {
  test('steps are shown as nodes with their kinds and keys, and workflow tasks are not', async () => {
    const { env, run } = await startCodeRun([
      [functionCommand('charge card')],
      [{ kind: 'sleep', key: 'nap', wakeAt: after(await newYear(), hours(1)) }],
    ]);
    await handleAllMessages(env);
    const got = await getRun(env.worker, run, true);
    expect(got).toMatchObject({
      run: {
        head: { kind: 'code', deploymentId: 'v1', workflow: { name: 'order', version: '1' } },
        nodes: [
          { node: { id: 'charge.x20.card', type: 'function', label: 'charge card' }, output: { value: 'charge card done' } },
          { node: { id: 'nap', type: 'sleep', label: 'nap' }, state: { status: 'waiting' } },
        ],
      },
    });
  });

  test('a new run uses the version named last; an existing run stays on its deployment', async () => {
    const { env, run, code } = await startCodeRun([[{ kind: 'sleep', key: 'nap', wakeAt: after(await newYear(), hours(1)) }]]);
    await handleAllMessages(env);
    await deploy(env, codeManifest('v2', [{ name: 'order', version: '2' }, { name: 'other' }, { name: 'order', version: '3' }]));
    const answer = await env.start({ idempotencyKey: 'again', workflowName: workflowNamed('order') });
    expect(answer).toMatchObject({ kind: 'started', deploymentId: 'v2' });
    await env.settle();
    expect(code.tasks.map(({ task }) => task.run.version)).toEqual(['1', '3', '1', '3']);
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a rerun uses the run’s input, and takes no version of a graph', async () => {
    const { env, run } = await startCodeRun([[functionCommand('a')]]);
    await env.settle();
    const again = { sourceRun: run, idempotencyKey: 'r1', bodyHash: 'h' };
    expect(await rerunRun(env.worker, { ...again, version: 1 })).toEqual({ kind: 'not_applicable', field: 'version' });
    expect(await rerunRun(env.worker, again)).toMatchObject({ kind: 'started', deploymentId: 'v1' });
  });

  test('a run with a later start is executed at that time', async () => {
    const { env, code } = await startCodeRun([[functionCommand('a')]]);
    const at = after(env.ports.clock.now(), hours(2));
    await env.start({ idempotencyKey: 'late', workflowName: workflowNamed('order'), availableAt: at });
    await handleAllMessages(env);
    expect(code.tasks).toHaveLength(1);
    await env.settle();
    expect(code.tasks).toHaveLength(2);
    expect(env.ports.clock.now()).toBeGreaterThanOrEqual(at);
  });
});
