/** Decisions about code runs: workflow tasks, events, ends. */
import { describe, expect, test } from 'vitest';
import { firstAttempt, signalId, topLevel } from '../../../lib/engine/ids.ts';
import { TagReader } from '../../../lib/engine/log/tags.ts';
import { heartbeatStates } from '../../../lib/engine/log/heartbeat-timeout.ts';
import { restoreFold, storeFold } from '../../../lib/engine/log/stored-fold.ts';
import { foldBody, parseFold } from '../../../lib/codec/fold.ts';
import { stepNodeId } from '../../../lib/engine/durable/step.ts';
import { after, days, hours, minutes, seconds } from '../../../lib/engine/time.ts';
import { plain } from '../graph-run-fixture.ts';
import { CodeRunFixture, childRuns, deadlineAt } from './code-run-fixture.ts';

const refOf = (key: string) => ({ node: { nodeId: stepNodeId(key), iteration: topLevel }, attempt: firstAttempt });

describe('a chain of steps', () => {
  test('costs one commit more than its steps, after the first', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('a')]);
    run.turn([run.did('a'), run.asks('b')]);
    run.turn([run.did('b'), { kind: 'returned', output: 'done' }]);
    expect(run.commits).toHaveLength(1 + 3);
    expect(run.state.progress).toMatchObject({ status: 'completed', output: { value: 'done' } });
    expect(run.state.open.size).toBe(0);
  });

  test('ten parallel steps are one commit', () => {
    const run = new CodeRunFixture();
    run.turn(Array.from({ length: 10 }, (_, index) => run.asks(`part:${index}`)));
    expect(run.commits).toHaveLength(2);
    expect(run.history.open).toHaveLength(10);
  });

  test('its history contains commands and results in the order of the log', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('a'), run.asks('b')]);
    run.turn([run.did('b', 2), run.asks('c'), run.failed('a')]);
    expect(run.history.entries.map((entry) => `${entry.kind} ${entry.key}`)).toEqual([
      'scheduled a',
      'scheduled b',
      'settled b',
      'scheduled c',
      'settled a',
    ]);
    expect(run.history.open.map(({ key }) => key)).toEqual(['c']);
  });
});

describe('waits and wake-ups', () => {
  test('a sleep ends the workflow task in its own commit, and its end requests the next task', () => {
    const run = new CodeRunFixture();
    run.turn([run.sleeps('nap')], 'suspended');
    expect(run.openWorkflowTasks).toHaveLength(0);
    expect(run.commits).toHaveLength(2);
    run.later(seconds(60));
    run.decide({ kind: 'node-woken', ...refOf('nap') });
    expect(run.last).toEqual(['NODE_COMPLETED nap', 'NODE_DISPATCHED .workflow-task.2']);
  });

  test('an early wake-up changes nothing', () => {
    const run = new CodeRunFixture();
    run.turn([run.sleeps('nap')], 'suspended');
    expect(run.decide({ kind: 'node-woken', ...refOf('nap') })).toEqual([]);
  });

  test('a signal during a workflow task requests no second one', () => {
    const run = new CodeRunFixture();
    const wait = { kind: 'signal-wait', key: 'ok', signal: 'ok', correlation: 'x' } as const;
    run.turn([run.asks('work'), { kind: 'scheduled', command: wait }]);
    const signal = { signalId: signalId('s1'), payload: { by: 'me' }, receivedAt: run.now };
    run.decide({ kind: 'signal-received', ...refOf('ok'), signal });
    expect(run.openWorkflowTasks).toHaveLength(1);
    expect(run.node('ok')).toMatchObject({ status: 'completed', output: { value: { data: { by: 'me' } } } });
  });

  test('an expired signal wait has the result null', () => {
    const run = new CodeRunFixture();
    const expiresAt = after(run.now, seconds(5));
    run.turn(
      [{ kind: 'scheduled', command: { kind: 'signal-wait', key: 'ok', signal: 'ok', correlation: 'x', expiresAt } }],
      'suspended',
    );
    run.later(seconds(5));
    run.decide({ kind: 'node-woken', ...refOf('ok') });
    expect(run.node('ok')).toMatchObject({ status: 'completed', output: { value: null } });
    expect(run.openWorkflowTasks).toHaveLength(1);
  });

  test('an expired call fails its step, and the called run continues', () => {
    const run = new CodeRunFixture();
    const expiresAt = after(run.now, seconds(5));
    run.turn(
      [{ kind: 'scheduled', command: { kind: 'workflow', key: 'sub', workflowName: 'sub', input: 1, expiresAt } }],
      'suspended',
    );
    expect(run.node('sub')).toMatchObject({
      status: 'waiting',
      for: 'child',
      childRunId: childRuns(1),
      parentClosePolicy: 'abandon',
    });
    run.later(seconds(5));
    run.decide({ kind: 'node-woken', ...refOf('sub') });
    expect(run.node('sub')).toMatchObject({ status: 'timed_out', failure: { code: 'workflow_expired' } });
  });

  test('a delayed retry requests its workflow task for that time, and a signal requests one sooner', () => {
    const run = new CodeRunFixture();
    const retryAt = after(run.now, seconds(64));
    run.turn([
      run.asks('work'),
      { kind: 'scheduled', command: { kind: 'signal-wait', key: 'ok', signal: 'ok', correlation: 'x' } },
    ]);
    const { startedAt, endedAt } = run.currentWorkflowTask;
    const failure = { cause: 'error', message: 'no' } as const;
    const retried = { kind: 'retried', key: 'work', attempt: firstAttempt, failure, delayMs: seconds(64), retryAt } as const;
    run.turn([{ ...retried, startedAt, endedAt }], 'suspended', retryAt);
    expect(run.openWorkflowTasks).toMatchObject([{ notBefore: retryAt }]);
    const signal = { signalId: signalId('s1'), payload: 1, receivedAt: run.now };
    run.decide({ kind: 'signal-received', ...refOf('ok'), signal });
    expect(run.openWorkflowTasks.map((drive) => (drive.status === 'queued' ? drive.notBefore : 0))).toEqual([retryAt, undefined]);
    expect(run.history.open).toMatchObject([{ key: 'work', attempt: 2, retryAt, lostAttempts: 0 }]);
  });

  test('code that awaits a promise that is not a step fails after five workflow tasks', () => {
    const run = new CodeRunFixture();
    for (let looked = 1; looked <= 4; looked += 1) {
      run.turn([], 'yielded');
      expect(run.openWorkflowTasks).toMatchObject([{ attempt: looked + 1 }]);
      run.later(minutes(5));
    }
    run.turn([], 'suspended');
    expect(run.state.progress).toMatchObject({ status: 'failed', error: { code: 'code_stalled' } });
  });

  test('a sleep that would end after the deadline ends the run at once', () => {
    const run = new CodeRunFixture();
    run.turn([run.sleeps('nap', days(8)), run.asks('never')], 'suspended');
    expect(run.last).toContain('RUN_TIMED_OUT');
    expect(run.state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
    expect(run.node('never')).toBeUndefined();
  });
});

describe('workflow tasks that crash or are lost', () => {
  test('a step that crashes the thread fails and is retried by another workflow task', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('bomb'), run.asks('calm')]);
    const failure = { cause: 'error', code: 'code_crashed', message: 'it exited' } as const;
    run.decide({
      kind: 'workflow-task-crashed',
      ...run.currentWorkflowTask,
      failure,
      running: [{ key: 'bomb', attempt: firstAttempt }],
    });
    expect(run.node('bomb')).toMatchObject({ status: 'queued', attempt: 2 });
    expect(run.node('calm')).toMatchObject({ status: 'queued', attempt: 1 });
    expect(run.openWorkflowTasks).toMatchObject([{ nodeId: '.workflow-task.2', notBefore: after(run.now, seconds(1)) }]);
  });

  test('a step that always crashes it fails after its attempts, and the code receives the failure', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('bomb', { retry: { maximumAttempts: 1 } })]);
    const failure = { cause: 'error', code: 'code_crashed', message: 'it exited' } as const;
    run.decide({
      kind: 'workflow-task-crashed',
      ...run.currentWorkflowTask,
      failure,
      running: [{ key: 'bomb', attempt: firstAttempt }],
    });
    expect(run.node('bomb')).toMatchObject({ status: 'failed' });
    expect(run.openWorkflowTasks).toHaveLength(1);
    expect(run.state.progress.status).toBe('running');
  });

  test('code that crashes its thread before any step fails after ten attempts', () => {
    const run = new CodeRunFixture();
    const failure = { cause: 'error', code: 'code_crashed', message: 'it exited' } as const;
    for (let broke = 1; broke <= 10; broke += 1) {
      expect(run.state.progress.status).not.toBe('failed');
      run.decide({ kind: 'workflow-task-crashed', ...run.currentWorkflowTask, failure, running: [] });
      run.later(minutes(5));
    }
    expect(run.state.progress).toMatchObject({ status: 'failed', error: { code: 'code_crashed' } });
  });

  test('a deferred task waits 5 s, then twice as long, at most 5 minutes, without end', () => {
    const run = new CodeRunFixture();
    const failure = { cause: 'error', code: 'replay_diverged', message: 'not the same' } as const;
    const waits: number[] = [];
    for (let tried = 0; tried < 60; tried += 1) {
      const [event] = run
        .decide({ kind: 'workflow-task-deferred', ...run.currentWorkflowTask, failure })
        .filter(({ type }) => type === 'NODE_RETRIED');
      if (event?.type === 'NODE_RETRIED') waits.push(event.delayMs / 1_000);
      run.later(minutes(5));
    }
    expect(waits.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
    expect(waits).toHaveLength(60);
    expect(run.state.progress.status).toBe('running');
  });

  test('a signal does not advance a deferred task, and a resume request does', () => {
    const run = new CodeRunFixture();
    run.turn([{ kind: 'scheduled', command: { kind: 'signal-wait', key: 'ok', signal: 'ok', correlation: 'x' } }]);
    run.decide({
      kind: 'workflow-task-deferred',
      ...run.currentWorkflowTask,
      failure: { cause: 'error', code: 'replay_diverged', message: 'no' },
    });
    run.decide({ kind: 'signal-received', ...refOf('ok'), signal: { signalId: signalId('s'), payload: 1, receivedAt: run.now } });
    expect(run.openWorkflowTasks).toHaveLength(1);
    run.decide({ kind: 'resume-requested', reason: 'the artifact is right again' });
    expect(run.openWorkflowTasks).toHaveLength(2);
  });

  test('a lost workflow task without a running step fails the run', () => {
    const run = new CodeRunFixture();
    const { node, attempt } = run.currentWorkflowTask;
    run.decide({ kind: 'node-lost', node, attempt, failure: { cause: 'lost', message: 'its message died' } });
    expect(run.state.progress).toMatchObject({ status: 'failed', error: { code: 'workflow_task_lost' } });
  });

  test('a lost workflow task fails an attempt of each running step, and their policies decide', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('a', { retry: { maximumAttempts: 1 } }), run.asks('b')]);
    const { node, attempt } = run.currentWorkflowTask;
    run.decide({ kind: 'node-lost', node, attempt, failure: { cause: 'lost', message: 'its workers died' } });
    expect(run.last).toEqual([
      'NODE_FAILED a',
      'NODE_RETRIED b',
      'NODE_COMPLETED .workflow-task.1',
      'NODE_DISPATCHED .workflow-task.2',
    ]);
    expect(run.state.progress.status).toBe('running');
    expect([...run.state.nodes.entries()].find(([key]) => key === 'a')?.[1]).toMatchObject({
      status: 'failed',
      failure: { cause: 'error', code: 'worker_lost' },
    });
  });
});

describe('rollback', () => {
  const begun = (): CodeRunFixture => {
    const run = new CodeRunFixture();
    run.turn([run.asks('book', { hasRollback: true }), run.asks('note')]);
    run.turn([run.did('book', 'B7'), run.did('note'), run.asks('pay')]);
    return run;
  };

  test('a failing run rolls back before it ends, in the same workflow task', () => {
    const run = begun();
    run.turn([run.failed('pay'), { kind: 'threw', failure: { cause: 'error', message: 'no money' } }]);
    expect(run.last).toEqual(['NODE_FAILED pay', 'ROLLBACK_STARTED']);
    expect(run.state.progress.status).toBe('running');
    expect(run.history.runOutcome).toMatchObject({ status: 'failed' });
    run.turn([{ kind: 'scheduled', command: { kind: 'rollback', key: 'rollback:book' } }]);
    run.turn([run.did('rollback:book'), { kind: 'rolled-back', failures: [] }]);
    expect(run.state.progress).toMatchObject({ status: 'failed', error: { message: 'no money' } });
    expect(run.state.open.size).toBe(0);
  });

  test('a workflow task lost with a pending rollback is followed by exactly one other', () => {
    const run = begun();
    const failure = { cause: 'error', message: 'no money' } as const;
    run.turn([run.failed('pay'), { kind: 'threw', failure }]);
    expect(run.state.code?.runOutcome).toMatchObject({ status: 'failed' });
    const lost = () =>
      run.decide({
        kind: 'node-lost',
        node: run.currentWorkflowTask.node,
        attempt: run.currentWorkflowTask.attempt,
        failure: { cause: 'lost', message: 'gone' },
      });
    lost();
    expect(run.state.progress.status).toBe('running');
    expect(run.openWorkflowTasks).toHaveLength(1);
    lost();
    expect(run.state.progress).toMatchObject({ status: 'failed', error: failure });
  });

  test('a cancelled run cancels open steps and rolls back at once, and a second cancel changes nothing', () => {
    const run = begun();
    run.decide({ kind: 'cancel-requested', reason: 'enough' });
    expect(run.last).toEqual(['ROLLBACK_STARTED']);
    expect(run.node('pay')).toMatchObject({ status: 'cancelled' });
    expect(run.decide({ kind: 'cancel-requested' })).toEqual([]);
    run.turn([{ kind: 'scheduled', command: { kind: 'rollback', key: 'rollback:book' } }]);
    run.turn([run.did('rollback:book'), { kind: 'rolled-back', failures: [] }]);
    expect(run.state.progress).toMatchObject({ status: 'cancelled', reason: 'enough' });
  });

  test('a cancelled run without completed steps is cancelled in one commit', () => {
    const run = new CodeRunFixture();
    run.decide({ kind: 'cancel-requested' });
    expect(run.last).toEqual(['RUN_STATUS_CHANGED', 'RUN_CANCELLED']);
  });

  test('failed rollbacks are reported, and a cancelled run then counts as failed', () => {
    const run = begun();
    run.decide({ kind: 'cancel-requested', reason: 'enough' });
    run.turn([{ kind: 'scheduled', command: { kind: 'rollback', key: 'rollback:book' } }]);
    const failure = { cause: 'error', message: 'the hotel does not answer' } as const;
    run.turn([run.failed('rollback:book'), { kind: 'rolled-back', failures: [{ key: 'book', failure }] }]);
    expect(run.state.progress).toMatchObject({
      status: 'failed',
      error: { code: 'rollback_failed', details: { rollbackFailures: [{ step: 'book' }], reason: 'enough' } },
    });
  });

  test('a run past its deadline rolls back, for an hour at most', () => {
    const run = begun();
    run.now = deadlineAt;
    run.decide({ kind: 'deadline-passed' });
    expect(run.last).toEqual(['ROLLBACK_STARTED']);
    run.later(minutes(59));
    expect(run.decide({ kind: 'deadline-passed' })).toEqual([]);
    run.later(hours(1));
    run.decide({ kind: 'deadline-passed' });
    expect(run.last).toEqual(['RUN_STATUS_CHANGED', 'RUN_TIMED_OUT']);
    expect(run.state.progress).toMatchObject({
      error: { code: 'deadline_exceeded', details: { rollbackFailures: [{ step: 'book' }] } },
    });
  });

  describe('with diverging code', () => {
    const diverge = (run: CodeRunFixture, code = 'replay_diverged') =>
      run.decide({
        kind: 'workflow-task-deferred',
        ...run.currentWorkflowTask,
        failure: { cause: 'error', code, message: 'book is not a sleep' },
      });
    /** Three steps with a rollback, completed in this order. */
    const withThree = (): CodeRunFixture => {
      const run = new CodeRunFixture();
      run.turn(['one', 'two', 'three'].map((key) => run.asks(key, { hasRollback: true })));
      run.turn(['three', 'one', 'two'].map((key) => run.did(key)));
      return run;
    };

    test('a cancelled run has five attempts, and ends with the names of steps not rolled back, the last completed first', () => {
      const run = withThree();
      run.decide({ kind: 'cancel-requested', reason: 'enough' });
      for (let tries = 1; tries < 5; tries += 1) {
        diverge(run);
        expect(run.state.progress.status).toBe('running');
      }
      diverge(run);
      const message = 'its rollback did not finish: book is not a sleep';
      expect(run.state.progress).toMatchObject({
        status: 'failed',
        error: {
          code: 'rollback_failed',
          message: 'the run was cancelled, and 3 of its steps could not be rolled back',
          details: { reason: 'enough', rollbackFailures: ['two', 'one', 'three'].map((step) => ({ step, message })) },
        },
      });
      expect(run.state.open.size).toBe(0);
    });

    test('steps already rolled back are not named, and failed rollbacks have their failure', () => {
      const run = withThree();
      run.turn([{ kind: 'threw', failure: { cause: 'error', message: 'no money' } }]);
      run.turn([{ kind: 'scheduled', command: { kind: 'rollback', key: 'rollback:two' } }]);
      run.turn([run.did('rollback:two'), { kind: 'scheduled', command: { kind: 'rollback', key: 'rollback:one' } }]);
      run.turn([run.failed('rollback:one')]);
      for (let tries = 1; tries <= 5; tries += 1) diverge(run);
      const { progress } = run.state;
      expect(progress).toMatchObject({ status: 'failed', error: { message: 'no money' } });
      if (progress.status !== 'failed') throw new Error(progress.status);
      const left = progress.error.details?.['rollbackFailures'];
      expect(left).toMatchObject([{ step: 'one' }, { step: 'three', message: expect.stringContaining('book is not a sleep') }]);
      expect(JSON.stringify(left)).not.toMatch(/"one","message":"its rollback was not run/);
    });

    test('a run without an outcome is retried without end, and so is one whose code cannot be loaded', () => {
      const run = withThree();
      for (let tries = 1; tries <= 9; tries += 1) diverge(run);
      expect(run.state.progress.status).toBe('running');
      const other = withThree();
      other.decide({ kind: 'cancel-requested' });
      for (let tries = 1; tries <= 9; tries += 1) diverge(other, 'artifact_unusable');
      expect(other.state.progress.status).toBe('running');
    });
  });
});

describe('a retried workflow', () => {
  test('keeps completed steps, forgets the rest, and has a workflow task at its time', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('a'), run.asks('b'), run.sleeps('nap')]);
    const retryAt = after(run.now, seconds(1));
    const nextAttempt = { delayMs: seconds(1), retryAt };
    run.turn([run.did('a', 'A'), run.failed('b'), { kind: 'threw', failure: { cause: 'error', message: 'b' }, nextAttempt }]);
    expect(run.openWorkflowTasks).toMatchObject([{ notBefore: retryAt }]);
    expect(run.history).toMatchObject({
      attempt: 2,
      entries: [],
      open: [],
      priorResults: [{ key: 'a', output: { value: 'A' } }],
    });
    run.later(seconds(1));
    run.turn([run.asks('b')]);
    expect(run.history.entries).toEqual([{ kind: 'scheduled', key: 'b', step: 'function' }]);
  });
});

describe('a call in a retried workflow', () => {
  const calls = (run: CodeRunFixture) =>
    run.turn([{ kind: 'scheduled', command: { kind: 'workflow', key: 'sub', workflowName: 'sub', input: 1 } }]);
  const again = (run: CodeRunFixture) => {
    const retryAt = after(run.now, seconds(1));
    run.turn([{ kind: 'threw', failure: { cause: 'error', message: 'no' }, nextAttempt: { delayMs: seconds(1), retryAt } }]);
    run.later(seconds(1));
  };

  test('of a run that failed calls another run', () => {
    const run = new CodeRunFixture();
    calls(run);
    const end = { status: 'failed', error: { cause: 'error', message: 'no' } } as const;
    run.decide({ kind: 'child-ended', ...refOf('sub'), childRunId: childRuns(1), end });
    again(run);
    calls(run);
    expect(run.node('sub')).toMatchObject({ childRunId: childRuns(2) });
    expect(plain(restoreFold(parseFold(foldBody(storeFold(run.state)))))).toEqual(plain(run.state));
  });

  test('of a run that is still open waits for the same run', () => {
    const run = new CodeRunFixture();
    calls(run);
    again(run);
    calls(run);
    expect(run.node('sub')).toMatchObject({ childRunId: childRuns(1) });
  });
});

test('a suspended workflow task that leaves an open step is followed by another', () => {
  const run = new CodeRunFixture();
  run.turn([run.asks('work')], 'suspended');
  expect(run.openWorkflowTasks).toMatchObject([{ nodeId: '.workflow-task.2', status: 'queued' }]);
});

describe('the state of a code run', () => {
  test('a stored fold is equal to the log’s, at every commit', () => {
    const run = new CodeRunFixture();
    const check = () => expect(plain(restoreFold(parseFold(foldBody(storeFold(run.state)))))).toEqual(plain(run.state));
    check();
    run.turn([run.asks('book', { hasRollback: true, retry: { maximumAttempts: 2 } }), run.sleeps('nap')]);
    check();
    const failure = { cause: 'lost', message: 'gone' } as const;
    const { startedAt, endedAt } = run.currentWorkflowTask;
    const times = { startedAt, endedAt };
    run.turn([{ kind: 'retried', key: 'book', attempt: firstAttempt, failure, delayMs: seconds(0), retryAt: run.now, ...times }]);
    check();
    expect(run.history.open).toMatchObject([{ key: 'book', attempt: 2, lostAttempts: 1 }]);
    run.turn([run.did('book', 'B7', 2)]);
    run.decide({ kind: 'cancel-requested' });
    check();
  });

  test('a workflow task without a heartbeat times out, and steps never do', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    const found = heartbeatStates(run.state, [], after(run.now, minutes(30)));
    expect(found.map(([key, { kind }]) => [key, kind])).toEqual([
      ['.workflow-task.1', 'timed_out'],
      ['work', 'delegated'],
    ]);
  });

  test('recovery requests a workflow task for a run that has none', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    const { node, attempt, startedAt, endedAt } = run.currentWorkflowTask;
    // No decision writes such a log: it is made by hand.
    const done = { type: 'NODE_COMPLETED', ...node, attempt, output: { value: null }, handle: null, startedAt, endedAt } as const;
    run.appendEvents([done]);
    expect(run.openWorkflowTasks).toHaveLength(0);
    run.decide({ kind: 'recovered', nodes: [] });
    expect(run.openWorkflowTasks).toHaveLength(1);
  });

  test('steps have tags, and a workflow task has one only if it cannot run', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('a')]);
    run.decide({
      kind: 'workflow-task-deferred',
      ...run.currentWorkflowTask,
      failure: { cause: 'error', code: 'replay_diverged', message: 'no' },
    });
    run.turn([run.did('a')], 'yielded');
    run.turn([{ kind: 'returned', output: 1 }]);
    const reader = new TagReader();
    const tags = run.commits.flatMap((commit) => reader.read(commit));
    expect(tags.map(({ tag, nodeId }) => `${tag} ${nodeId}`)).toEqual([
      'node_retried .workflow-task.1',
      'node_started a',
      'node_completed a',
    ]);
  });
});
