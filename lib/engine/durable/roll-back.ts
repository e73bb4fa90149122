/** Rollback: a run that does not succeed undoes its completed steps, or reports which of them stay. */
import { defined } from '../../base/defined.ts';
import { emit, endRun } from '../decision.ts';
import { nodeKey, topLevel } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { RunOutcome, Failure } from '../log/events.ts';
import { reportedFailure } from '../log/event-limits.ts';
import type { Draft } from './facts.ts';
import { rollbackPrefix, stepNodeId } from './step.ts';

/** Ends the run without success: at once, or after a rollback. If its rollback was already in progress, it ends unfinished. */
export function endOrRollBack(draft: Draft, runOutcome: RunOutcome): void {
  const startedOutcome = draft.state.code?.runOutcome;
  if (startedOutcome !== undefined) return endWithUnfinishedRollback(draft, startedOutcome, reasonOf(runOutcome));
  if (!hasStepsToRollBack(draft)) return endRun(draft, runOutcome);
  emit(draft, { type: 'ROLLBACK_STARTED', runOutcome });
}

const reasonOf = (runOutcome: RunOutcome): string =>
  runOutcome.status === 'cancelled' ? (runOutcome.reason ?? 'the run was cancelled') : runOutcome.error.message;

export const hasStepsToRollBack = ({ state }: Draft): boolean => {
  if (state.code?.runOutcome !== undefined) return false;
  for (const [, node] of state.nodes.entries()) if (node.status === 'completed' && node.step?.hasRollback === true) return true;
  return false;
};

/** A completed step that was not rolled back. */
interface RollbackFailure {
  readonly key: string;
  readonly failure: Pick<Failure, 'message'>;
}

/** @param reason why the rollback does not continue */
export function endWithUnfinishedRollback(draft: Draft, runOutcome: RunOutcome, reason: string): void {
  endRun(draft, withRollbackFailures(runOutcome, unfinishedRollbacks(draft, reason)));
}

/** Completed steps whose rollback has not succeeded, the last completed first. */
function unfinishedRollbacks(draft: Draft, reason: string): readonly RollbackFailure[] {
  const completedSteps = [...draft.state.nodes.entries()].flatMap(([, node]) =>
    node.status === 'completed' && node.step?.hasRollback === true ? [{ key: node.step.key, endedBy: node.endedBy }] : [],
  );
  return completedSteps
    .toSorted((one, other) => other.endedBy - one.endedBy)
    .flatMap(({ key }) => {
      const rollback = draft.state.nodes.get(nodeKey({ nodeId: stepNodeId(`${rollbackPrefix}${key}`), iteration: topLevel }));
      if (rollback?.status === 'completed') return [];
      const failure = rollback !== undefined && 'failure' in rollback ? rollback.failure : undefined;
      return [{ key, failure: failure ?? { message: `its rollback did not finish: ${reason}` } }];
    });
}

/** Adds failed rollbacks to the run's error. A cancelled run then counts as failed, because an operator must act on it. */
export function withRollbackFailures(runOutcome: RunOutcome, failures: readonly RollbackFailure[]): RunOutcome {
  if (failures.length === 0) return runOutcome;
  const rollbackFailures = failures.map(({ key, failure }): JsonObject => ({ step: key, message: failure.message }));
  if (runOutcome.status === 'cancelled') {
    const error: Failure = {
      cause: 'error',
      code: 'rollback_failed',
      message: `the run was cancelled, and ${failures.length} of its steps could not be rolled back`,
      details: defined({ rollbackFailures, reason: runOutcome.reason }),
    };
    return { status: 'failed', error: reportedFailure(error) };
  }
  return {
    ...runOutcome,
    error: reportedFailure({ ...runOutcome.error, details: { ...runOutcome.error.details, rollbackFailures } }),
  };
}
