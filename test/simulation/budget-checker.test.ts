/** The budget checker, with logs written by hand. */
import { expect, it } from 'vitest';
import { attempt, commitNo, environment, eventId, nodeId, nonce, projectId, runId, topLevel } from '../../lib/engine/ids.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { durationMs, seconds, after } from '../../lib/engine/time.ts';
import { BudgetChecker } from './budget-checker.ts';
import { simulationStart } from './simulated-ports.ts';

const run = {
  projectId: projectId('acme'),
  environment: environment('test'),
  runId: runId('wrun_01KDVDNXP86STSBSQWBY7BQ31G'),
};
const at = { nodeId: nodeId('work'), iteration: topLevel };
const retried = (failedAttempt: number): RunEvent => ({
  type: 'NODE_RETRIED',
  ...at,
  attempt: attempt(failedAttempt),
  failure: { cause: 'error', message: 'no' },
  delayMs: durationMs(1_000),
  retryAt: after(simulationStart, seconds(1)),
  via: 'inline',
  startedAt: simulationStart,
  endedAt: simulationStart,
});
const committing = (checker: BudgetChecker, ...events: readonly RunEvent[]): void =>
  checker.committed(run, {
    number: commitNo(1),
    firstEventId: eventId(1),
    events,
    at: simulationStart,
    by: 'test',
    nonce: nonce('n'),
  });
const dispatched = { type: 'NODE_DISPATCHED', ...at, attempt: attempt(1), via: 'queue', wave: 0 } as const;

it('a graph run that retries beyond its budget violates an invariant', () => {
  const checker = new BudgetChecker({ maxNodeExecutions: 2 });
  committing(checker, dispatched, retried(1));
  expect(() => committing(checker, retried(2))).toThrow('dispatched 3 executions; its budget is 2');
});

it('a code run has no budget, also if a graph with a budget called it', () => {
  const checker = new BudgetChecker({ maxNodeExecutions: 2 });
  committing(checker, { ...dispatched, step: { kind: 'workflow_task', key: '1' } });
  committing(checker, { ...dispatched, step: { kind: 'function', key: 'work' } }, retried(1));
  expect(() => committing(checker, retried(2))).not.toThrow();
});
