/** Facts of a code run: the changes of each, and that late, early or foreign facts change nothing. */
import { describe, expect, test } from 'vitest';
import type { CodeFact } from '../../../lib/engine/durable/facts.ts';
import { stepNodeId } from '../../../lib/engine/durable/step.ts';
import { attempt, firstAttempt, signalId, topLevel } from '../../../lib/engine/ids.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { dawn } from '../graph-run-fixture.ts';
import { CodeRunFixture, childRuns } from './code-run-fixture.ts';

const of = (key: string) => ({ node: { nodeId: stepNodeId(key), iteration: topLevel }, attempt: firstAttempt });
const second = (key: string) => ({ ...of(key), attempt: attempt(2) });

/** A running step, a nap, a signal wait without an end, a call, and another nap; the workflow task is suspended. */
const waiting = (): CodeRunFixture => {
  const run = new CodeRunFixture();
  run.turn(
    [
      run.sleeps('nap'),
      { kind: 'scheduled', command: { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: 'order-7' } },
      { kind: 'scheduled', command: { kind: 'workflow', key: 'sub', workflowName: 'sub', input: 1 } },
      run.sleeps('siesta', seconds(600)),
    ],
    'suspended',
  );
  return run;
};

const signal = (run: CodeRunFixture) => ({ signalId: signalId('s1'), payload: { by: 'me' }, receivedAt: run.now });
const completed = { status: 'completed', output: 'B7' } as const;

describe('a workflow task', () => {
  const begins = (run: CodeRunFixture): CodeFact => ({ kind: 'node-started', ...run.currentWorkflowTask });

  test('begins once, and sets the run to running', () => {
    const run = new CodeRunFixture();
    const begun = begins(run);
    run.later(seconds(3));
    run.decide(begun);
    expect(run.commits.at(-1)?.events).toEqual([
      { type: 'RUN_STATUS_CHANGED', status: 'running' },
      { type: 'NODE_STARTED', nodeId: '.workflow-task.1', iteration: topLevel, attempt: 1, startedAt: dawn },
    ]);
    expect(run.decide(begun)).toEqual([]);
  });

  test('begins at its current attempt only, and an unknown node does not begin', () => {
    const run = new CodeRunFixture();
    expect(
      run.decide({ kind: 'node-started', node: run.currentWorkflowTask.node, attempt: attempt(2), startedAt: run.now }),
    ).toEqual([]);
    expect(run.decide({ kind: 'node-started', ...of('unknown'), startedAt: run.now })).toEqual([]);
  });

  test('is ignored once another attempt of it was dispatched', () => {
    const run = new CodeRunFixture();
    const was = run.currentWorkflowTask;
    const failure = { cause: 'error', code: 'replay_diverged', message: 'no' } as const;
    run.decide({ kind: 'workflow-task-deferred', ...was, failure });
    expect(run.openWorkflowTasks).toMatchObject([{ attempt: 2 }]);
    const batch = { entries: [run.asks('late')], next: 'running' } as const;
    expect(run.decide({ kind: 'command-batch', ...was, batch })).toEqual([]);
    expect(run.decide({ kind: 'workflow-task-crashed', ...was, failure, running: [] })).toEqual([]);
    expect(run.decide({ kind: 'workflow-task-deferred', ...was, failure })).toEqual([]);
    expect(run.decide({ kind: 'node-lost', ...was, failure })).toEqual([]);
  });

  test('can be lost, and a step cannot', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    expect(run.decide({ kind: 'node-lost', ...of('work'), failure: { cause: 'lost', message: 'gone' } })).toEqual([]);
    expect(run.decide({ kind: 'node-lost', ...of('unknown'), failure: { cause: 'lost', message: 'gone' } })).toEqual([]);
  });
});

describe('a wake-up', () => {
  test('of a running step, a wait without an end, another attempt or an unknown node changes nothing', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    run.later(seconds(3_600));
    expect(run.decide({ kind: 'node-woken', ...of('work') })).toEqual([]);
    const other = waiting();
    other.later(seconds(3_600));
    for (const late of [of('paid'), of('sub'), second('nap'), of('unknown')])
      expect(other.decide({ kind: 'node-woken', ...late })).toEqual([]);
  });

  test('by request ends the named sleeps, or all of them, and no other wait', () => {
    const run = waiting();
    run.decide({ kind: 'wake-requested', nodeIds: [stepNodeId('siesta'), stepNodeId('paid')] });
    expect(run.last).toEqual(['NODE_WOKEN siesta', 'NODE_COMPLETED siesta', 'NODE_DISPATCHED .workflow-task.2']);
    expect(run.node('siesta')).toMatchObject({ output: { value: null } });
    const all = waiting();
    all.decide({ kind: 'wake-requested' });
    expect(all.last).toEqual([
      'NODE_WOKEN nap',
      'NODE_COMPLETED nap',
      'NODE_DISPATCHED .workflow-task.2',
      'NODE_WOKEN siesta',
      'NODE_COMPLETED siesta',
    ]);
    expect([all.node('paid')?.status, all.node('sub')?.status]).toEqual(['waiting', 'waiting']);
  });

  test('without a sleeping node changes nothing', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    expect(run.decide({ kind: 'wake-requested' })).toEqual([]);
  });
});

describe('a resume request', () => {
  test('is recorded with all its fields, wakes sleeping nodes, and requests a workflow task', () => {
    const run = waiting();
    const said = { reason: 'it is paid', payload: { value: { by: 'me' } }, token: 't1' };
    run.decide({ kind: 'resume-requested', ...said });
    expect(run.commits.at(-1)?.events[0]).toEqual({ type: 'RUN_RESUMED', ...said });
    expect(run.last.slice(1)).toEqual([
      'NODE_WOKEN nap',
      'NODE_COMPLETED nap',
      'NODE_DISPATCHED .workflow-task.2',
      'NODE_WOKEN siesta',
      'NODE_COMPLETED siesta',
    ]);
  });

  test('needs no fields, and requests one workflow task', () => {
    const run = new CodeRunFixture();
    const wait = { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: 'order-7' } as const;
    run.turn([{ kind: 'scheduled', command: wait }], 'suspended');
    run.decide({ kind: 'resume-requested' });
    run.decide({ kind: 'resume-requested' });
    expect(run.commits.slice(-2).map(({ events }) => events[0])).toEqual([{ type: 'RUN_RESUMED' }, { type: 'RUN_RESUMED' }]);
    expect(run.openWorkflowTasks).toHaveLength(1);
  });
});

describe('a signal', () => {
  test('ends the wait that it was matched with, and is recorded', () => {
    const run = waiting();
    run.decide({ kind: 'signal-received', ...of('paid'), signal: signal(run) });
    expect(run.commits.at(-1)?.events).toMatchObject([
      { type: 'SIGNAL_RECEIVED', nodeId: 'paid', attempt: 1, signalId: 's1', name: 'paid', correlation: 'order-7' },
      { type: 'NODE_COMPLETED', nodeId: 'paid', output: { value: { data: { by: 'me' } } } },
      { type: 'NODE_DISPATCHED', nodeId: '.workflow-task.2' },
    ]);
  });

  test('for a node that awaits none changes nothing: a sleep, a call, a running step, another attempt, an ended wait, an unknown node', () => {
    const run = waiting();
    const give = (to: ReturnType<typeof of>) => run.decide({ kind: 'signal-received', ...to, signal: signal(run) });
    for (const other of [of('nap'), of('sub'), second('paid'), of('unknown')]) expect(give(other)).toEqual([]);
    expect(give(of('paid'))).not.toEqual([]);
    expect(give(of('paid'))).toEqual([]);
    const busy = new CodeRunFixture();
    busy.turn([busy.asks('work')]);
    expect(busy.decide({ kind: 'signal-received', ...of('work'), signal: signal(busy) })).toEqual([]);
  });
});

describe('the end of a child run', () => {
  const ends = (run: CodeRunFixture, more: Partial<Extract<CodeFact, { kind: 'child-ended' }>> = {}) =>
    run.decide({ kind: 'child-ended', ...of('sub'), childRunId: childRuns(1), end: completed, ...more });

  test('gives its output to the step, or fails it', () => {
    const run = waiting();
    ends(run);
    expect(run.node('sub')).toMatchObject({ status: 'completed', output: { value: 'B7' } });
    expect(run.openWorkflowTasks).toHaveLength(1);
    const other = waiting();
    ends(other, { end: { status: 'cancelled', reason: 'enough' } });
    expect(other.node('sub')).toMatchObject({ status: 'failed', failure: { code: 'subflow_cancelled' } });
    expect(other.openWorkflowTasks).toHaveLength(1);
  });

  test('changes nothing for a run that the step did not call, or no longer waits for', () => {
    const run = waiting();
    expect(ends(run, { childRunId: childRuns(2) })).toEqual([]);
    for (const other of [of('nap'), of('paid'), second('sub'), of('unknown')]) expect(ends(run, other)).toEqual([]);
    ends(run);
    expect(ends(run)).toEqual([]);
    const busy = new CodeRunFixture();
    busy.turn([busy.asks('sub')]);
    expect(ends(busy)).toEqual([]);
  });
});

describe('recovery', () => {
  test('is recorded if something was redispatched, and not otherwise', () => {
    const run = waiting();
    expect(run.decide({ kind: 'recovered', nodes: ['.workflow-task.1'] })).toEqual([
      { type: 'RUN_RECOVERED', nodes: ['.workflow-task.1'] },
    ]);
    expect(run.decide({ kind: 'recovered', nodes: [] })).toEqual([]);
  });

  test('requests no workflow task while one or a wait is open', () => {
    const run = new CodeRunFixture();
    run.turn([run.asks('work')]);
    expect(run.decide({ kind: 'recovered', nodes: [] })).toEqual([]);
    expect(waiting().decide({ kind: 'recovered', nodes: [] })).toEqual([]);
  });
});

test('an ended run ignores facts, and of several facts those after its end change nothing', () => {
  const run = waiting();
  const facts: readonly CodeFact[] = [
    { kind: 'cancel-requested' },
    { kind: 'resume-requested' },
    { kind: 'signal-received', ...of('paid'), signal: signal(run) },
  ];
  run.decide(...facts);
  expect(run.last).toEqual(['RUN_STATUS_CHANGED', 'RUN_CANCELLED']);
  for (const fact of facts) expect(run.decide(fact)).toEqual([]);
});
