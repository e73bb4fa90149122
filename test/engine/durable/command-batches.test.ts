/** The events of a command batch, and batches that are invalid. */
import { describe, expect, test } from 'vitest';
import { maxStepAttempts } from '../../../lib/engine/durable/apply-command-batch.ts';
import type { CommandBatchEntry } from '../../../lib/engine/durable/command-batch.ts';
import { firstAttempt } from '../../../lib/engine/ids.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { after, hours, minutes, seconds } from '../../../lib/engine/time.ts';
import { dawn } from '../graph-run-fixture.ts';
import { CodeRunFixture, deadlineAt } from './code-run-fixture.ts';

const broke = { cause: 'error', message: 'it broke' } as const;
const eventsOf = (run: CodeRunFixture): readonly RunEvent[] => run.commits.at(-1)?.events ?? [];

describe('a step', () => {
  test('has its execution recorded: times, printed lines and result', () => {
    const run = new CodeRunFixture();
    run.turn(['done', 'again', 'broken', 'quiet'].map((key) => run.asks(key)));
    run.later(seconds(9));
    const times = { startedAt: after(dawn, seconds(2)), endedAt: after(dawn, seconds(8)) };
    const worked = { ...times, attempt: firstAttempt, printed: ['one', 'two'] };
    const retry = { delayMs: seconds(4), retryAt: after(run.now, seconds(4)) };
    run.turn([
      { kind: 'completed', key: 'done', output: { reservation: 7 }, ...worked },
      { kind: 'retried', key: 'again', failure: broke, ...retry, ...worked },
      { kind: 'failed', key: 'broken', failure: broke, ...worked },
      run.did('quiet'),
    ]);
    const node = (nodeId: string) => ({ nodeId, iteration: '', attempt: 1 });
    const printed = { ...times, printed: ['one', 'two'] };
    expect(eventsOf(run)).toEqual([
      { type: 'NODE_COMPLETED', ...node('done'), output: { value: { reservation: 7 } }, handle: null, ...printed },
      { type: 'NODE_RETRIED', ...node('again'), failure: broke, ...retry, via: 'inline', ...printed },
      { type: 'NODE_FAILED', ...node('broken'), failure: broke, ...printed },
      {
        type: 'NODE_COMPLETED',
        ...node('quiet'),
        output: { value: null },
        handle: null,
        startedAt: run.now,
        endedAt: run.now,
      },
    ]);
  });

  test('that is not running, at another attempt, or of another key with the same node, is rejected in a batch', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    expect(() => run.turn([run.did('unknown')])).toThrow('step "unknown" is not at attempt 1');
    expect(() => run.turn([run.did('work', null, 2)])).toThrow('step "work" is not at attempt 2');
    expect(() => run.turn([run.failed('.workflow-task.1')])).toThrow('is not at attempt 1');
    run.turn([run.did('work')]);
    expect(() => run.turn([run.did('work')])).toThrow('step "work" is not at attempt 1');
  });

  test('is scheduled once', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    expect(() => run.turn([run.asks('work')])).toThrow('step "work" was scheduled twice');
  });
});

describe('entries after the end of the code', () => {
  test('are ignored', () => {
    const run = new CodeRunFixture();
    run.turn([{ kind: 'returned', output: 1 }, run.asks('late')]);
    expect(run.state.progress.status).toBe('completed');
    expect(run.node('late')).toBeUndefined();
  });

  test('are ignored after a failure with a rollback', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('book', { hasRollback: true })]);
    run.turn([run.did('book')]);
    run.turn([{ kind: 'threw', failure: broke }, run.asks('late')], 'suspended');
    expect(run.last).toEqual(['ROLLBACK_STARTED']);
    expect(run.openWorkflowTasks).toMatchObject([{ nodeId: '.workflow-task.1', attempt: 1 }]);
  });
});

describe('a workflow task that stalls', () => {
  test('during a rollback is retried five times, and then the remaining steps are named', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('book', { hasRollback: true })]);
    run.turn([run.did('book')]);
    run.turn([{ kind: 'threw', failure: broke }]);
    for (let looked = 1; looked <= 4; looked += 1) {
      run.turn([], 'suspended');
      expect(run.openWorkflowTasks).toMatchObject([{ attempt: looked + 1 }]);
      run.later(minutes(5));
    }
    run.turn([], 'suspended');
    expect(run.state.progress).toMatchObject({
      status: 'failed',
      error: { message: 'it broke', details: { rollbackFailures: [{ step: 'book' }] } },
    });
    expect(run.state.open.size).toBe(0);
  });

  test('is not one with a wake-up time', () => {
    const run = new CodeRunFixture();
    const wakeAt = after(run.now, seconds(9));
    run.turn([], 'suspended', wakeAt);
    expect(run.openWorkflowTasks).toMatchObject([{ nodeId: '.workflow-task.2', notBefore: wakeAt }]);
  });

  test('is not one with results at the end of its time: the next task delivers them', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    run.turn([run.did('work')], 'yielded');
    expect(run.openWorkflowTasks).toMatchObject([{ nodeId: '.workflow-task.2', status: 'queued', attempt: 1 }]);
  });

  test('is one that suspends after new results without a command', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    run.turn([run.did('work')], 'suspended');
    expect(run.openWorkflowTasks).toMatchObject([{ nodeId: '.workflow-task.1', attempt: 2 }]);
  });
});

describe('a suspended workflow task without a wake-up time', () => {
  const retriesAfter = (run: CodeRunFixture, key: string, wait: number): CommandBatchEntry => {
    const retryAt = after(run.now, seconds(wait));
    const times = { startedAt: run.now, endedAt: run.now };
    return { kind: 'retried', key, attempt: firstAttempt, failure: broke, delayMs: seconds(wait), retryAt, ...times };
  };

  test('is followed by one at the first retry of a step', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('a'), run.asks('b'), run.sleeps('nap', seconds(1))]);
    run.turn([retriesAfter(run, 'a', 64), retriesAfter(run, 'b', 8)], 'suspended');
    expect(run.openWorkflowTasks).toMatchObject([{ nodeId: '.workflow-task.2', notBefore: after(run.now, seconds(8)) }]);
  });

  test('is followed by one at once if a step is still running', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('a'), run.asks('b')]);
    run.turn([retriesAfter(run, 'a', 64)], 'suspended');
    expect(run.openWorkflowTasks).toMatchObject([{ nodeId: '.workflow-task.2' }]);
    expect(run.openWorkflowTasks[0]).not.toHaveProperty('notBefore');
  });
});

describe('code that fails', () => {
  test('without a rollback: its workflow task completes, and the run ends', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    run.turn([run.failed('work'), { kind: 'threw', failure: broke }]);
    expect(run.last).toEqual(['NODE_FAILED work', 'NODE_COMPLETED .workflow-task.1', 'RUN_STATUS_CHANGED', 'RUN_FAILED']);
  });

  test('with a rollback: its workflow task performs it and completes', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('book', { hasRollback: true })]);
    run.turn([run.did('book')]);
    run.turn([{ kind: 'threw', failure: broke }]);
    for (let looked = 1; looked <= 5; looked += 1)
      run.decide({ kind: 'workflow-task-deferred', ...run.currentWorkflowTask, failure: { ...broke, code: 'replay_diverged' } });
    expect(run.last).toEqual(['NODE_COMPLETED .workflow-task.1', 'RUN_STATUS_CHANGED', 'RUN_FAILED']);
  });

  test('even if its workflow task was lost before it began, the run was running', () => {
    const run = new CodeRunFixture();
    const lost = { cause: 'lost', message: 'gone' } as const;
    run.decide({ kind: 'node-lost', node: run.currentWorkflowTask.node, attempt: firstAttempt, failure: lost });
    expect(eventsOf(run)).toMatchObject([
      { type: 'RUN_STATUS_CHANGED', status: 'running' },
      { type: 'NODE_FAILED', nodeId: '.workflow-task.1' },
      { type: 'RUN_STATUS_CHANGED', status: 'failed' },
      { type: 'RUN_FAILED', error: { code: 'workflow_task_lost' } },
    ]);
  });
});

describe('a run with too many step attempts', () => {
  const withSteps = (count: number): CodeRunFixture => {
    const run = new CodeRunFixture();
    run.turn(Array.from({ length: count }, (_, index) => run.asks(`s${index}`)));
    return run;
  };

  test('continues at the limit, and fails beyond it', () => {
    const run = withSteps(maxStepAttempts);
    expect(run.state.progress.status).toBe('running');
    run.turn([run.asks('one more')]);
    expect(run.state.progress).toMatchObject({ status: 'failed', error: { code: 'step_limit_exceeded' } });
  });
});

describe('the deadline', () => {
  test('does nothing before its time, and then ends a run without a rollback', () => {
    const run = new CodeRunFixture();
    run.now = after(dawn, hours(7 * 24 - 1));
    expect(run.decide({ kind: 'deadline-passed' })).toEqual([]);
    run.now = deadlineAt;
    run.decide({ kind: 'deadline-passed' });
    expect(run.last).toEqual(['RUN_STATUS_CHANGED', 'RUN_TIMED_OUT']);
  });

  test('gives a rollback exactly one hour', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('book', { hasRollback: true })]);
    run.turn([run.did('book')]);
    run.now = deadlineAt;
    run.decide({ kind: 'deadline-passed' });
    run.later(hours(1));
    run.decide({ kind: 'deadline-passed' });
    expect(run.last).toEqual(['RUN_STATUS_CHANGED', 'RUN_TIMED_OUT']);
  });
});

test('a workflow task that is lost during a rollback is replaced only if it was dispatched before the rollback began', () => {
  const run = new CodeRunFixture();
  run.turn([run.asks('book', { hasRollback: true })]);
  run.turn([run.did('book')]);
  run.decide({ kind: 'node-lost', ...run.currentWorkflowTask, failure: { cause: 'lost', message: 'gone' } });
  expect(run.last).toEqual(['NODE_FAILED .workflow-task.1', 'ROLLBACK_STARTED', 'NODE_DISPATCHED .workflow-task.2']);
  run.decide({ kind: 'node-lost', ...run.currentWorkflowTask, failure: { cause: 'lost', message: 'gone again' } });
  expect(run.state.progress).toMatchObject({ status: 'failed', error: { code: 'workflow_task_lost', message: 'gone' } });
});
