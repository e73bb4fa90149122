/** What the fold counts in a code run: workflow tasks, step attempts, workflow attempts, failed calls. */
import { describe, expect, test } from 'vitest';
import { attempt, firstAttempt } from '../../../lib/engine/ids.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { after, seconds } from '../../../lib/engine/time.ts';
import { CodeRunFixture, childRuns } from '../durable/code-run-fixture.ts';
import { refOf } from '../graph-run-fixture.ts';

const broke = { cause: 'error', message: 'no' } as const;
const of = (key: string) => ({ node: refOf(key), attempt: firstAttempt });
const retried = (run: CodeRunFixture, key: string) => {
  const { startedAt, endedAt } = run.currentWorkflowTask;
  const retry = { delayMs: seconds(0), retryAt: run.now };
  return { kind: 'retried', key, attempt: firstAttempt, failure: broke, ...retry, startedAt, endedAt } as const;
};
const retryWorkflow = (run: CodeRunFixture) =>
  run.turn([{ kind: 'threw', failure: broke, nextAttempt: { delayMs: seconds(0), retryAt: run.now } }]);
const calls = (run: CodeRunFixture, key: string, expiresAt = after(run.now, seconds(5))) =>
  run.turn([{ kind: 'scheduled', command: { kind: 'workflow', key, workflowName: 'sub', input: 1, expiresAt } }]);
const ends = (run: CodeRunFixture, key: string, number: number) =>
  run.decide({ kind: 'child-ended', ...of(key), childRunId: childRuns(number), end: { status: 'failed', error: broke } });

test('each step attempt and each wait counts once, and ends and deferrals do not count', () => {
  const run = new CodeRunFixture();
  const counted = () => [run.state.code?.workflowTasks, run.state.code?.stepAttempts];
  expect(counted()).toEqual([1, 0]);
  run.turn([run.asks('a'), run.asks('b'), run.sleeps('nap')]);
  expect(counted()).toEqual([1, 3]);
  run.turn([retried(run, 'a')]);
  expect(counted()).toEqual([1, 4]);
  run.turn([run.failed('b'), run.did('a', null, 2)]);
  run.decide({ kind: 'workflow-task-deferred', ...run.currentWorkflowTask, failure: broke });
  expect(counted()).toEqual([1, 4]);
  run.turn([], 'yielded');
  expect(counted()).toEqual([2, 4]);
});

describe('a workflow that is retried', () => {
  test('keeps completed steps and the open workflow task, and nothing else', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('done'), run.asks('open'), run.asks('broken'), run.sleeps('nap')]);
    run.turn([run.did('done'), run.failed('broken')]);
    retryWorkflow(run);
    expect([...run.state.nodes.entries()].map(([key, { status }]) => `${key} ${status}`)).toEqual([
      '.workflow-task.1 completed',
      'done completed',
      '.workflow-task.2 queued',
    ]);
    expect([...run.state.open.keys()]).toEqual(['.workflow-task.2']);
    expect(run.state.code).toMatchObject({ attempt: 2, workflowTasks: 2, stepAttempts: 4 });
    expect(run.state.code).not.toHaveProperty('failedCalls');
  });

  test('calls another run if the last one failed, each time', () => {
    const run = new CodeRunFixture();
    for (const number of [1, 2, 3]) {
      calls(run, 'sub');
      expect(run.node('sub')).toMatchObject({ childRunId: childRuns(number) });
      ends(run, 'sub', number);
      retryWorkflow(run);
      expect(run.state.code?.failedCalls).toEqual({ sub: number });
    }
  });

  test('calls the same run if its wait expired, or if another step failed', () => {
    const run = new CodeRunFixture();
    calls(run, 'sub');
    run.later(seconds(5));
    run.decide({ kind: 'node-woken', ...of('sub') });
    expect(run.node('sub')).toMatchObject({ status: 'timed_out' });
    run.turn([run.asks('work')]);
    run.turn([run.failed('work')]);
    retryWorkflow(run);
    expect(run.state.code).not.toHaveProperty('failedCalls');
  });
});

describe('an impossible log is rejected', () => {
  const retry = (number: number): RunEvent => ({
    type: 'RUN_RETRIED',
    attempt: attempt(number),
    failure: broke,
    delayMs: seconds(0),
    retryAt: after(new CodeRunFixture().now, seconds(0)),
  });
  const folded = (events: readonly RunEvent[], run = new CodeRunFixture()) => {
    run.appendEvents(events);
    return () => run.state;
  };
  const rollback: RunEvent = { type: 'ROLLBACK_STARTED', runOutcome: { status: 'cancelled' } };

  test('with a retry of another workflow attempt', () => {
    expect(folded([retry(2)])).toThrow('the workflow is at attempt 1, not 2');
  });

  test('with a second rollback', () => {
    expect(folded([rollback, rollback])).toThrow('ROLLBACK_STARTED occurs twice');
  });
});
