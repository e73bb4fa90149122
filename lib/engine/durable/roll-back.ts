/** A run that does not end well undoes what it did; where it cannot come to the end of that, it says which steps stay as they are. */
import { defined } from '../defined.ts';
import { topLevel } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { RunOutcome, Failure } from '../log/events.ts';
import { reportedFailure } from '../log/failure-limits.ts';
import { type Draft, emit, endRun, nodeOf } from './draft.ts';
import { rollbackPrefix, stepNodeId } from './step.ts';

/** The run fails, or is cancelled: at once, or after what it did is undone; or it was about that, and this is why it does not go on. */
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

/** A step that was done and is not undone. */
interface RollbackFailure {
  readonly key: string;
  readonly failure: Pick<Failure, 'message'>;
}

/** @param reason no rollback is run any more */
export function endWithUnfinishedRollback(draft: Draft, runOutcome: RunOutcome, reason: string): void {
  endRun(draft, withRollbackFailures(runOutcome, unfinishedRollbacks(draft, reason)));
}

/** What has a rollback that did not come to a good end, the last one done first. */
function unfinishedRollbacks(draft: Draft, reason: string): readonly RollbackFailure[] {
  const completedSteps = [...draft.state.nodes.entries()].flatMap(([, node]) =>
    node.status === 'completed' && node.step?.hasRollback === true ? [{ key: node.step.key, endedBy: node.endedBy }] : [],
  );
  return completedSteps
    .toSorted((one, other) => other.endedBy - one.endedBy)
    .flatMap(({ key }) => {
      const rollback = nodeOf(draft, { nodeId: stepNodeId(`${rollbackPrefix}${key}`), iteration: topLevel });
      if (rollback?.status === 'completed') return [];
      const failure = rollback !== undefined && 'failure' in rollback ? rollback.failure : undefined;
      return [{ key, failure: failure ?? { message: `its rollback was not run to its end: ${reason}` } }];
    });
}

/** What could not be undone is said of the run; one that was cancelled has failed then, because somebody has to look at it. */
export function withRollbackFailures(runOutcome: RunOutcome, failures: readonly RollbackFailure[]): RunOutcome {
  if (failures.length === 0) return runOutcome;
  const rollbackFailures = failures.map(({ key, failure }): JsonObject => ({ step: key, message: failure.message }));
  if (runOutcome.status === 'cancelled') {
    const error: Failure = {
      cause: 'error',
      code: 'rollback_failed',
      message: `the run was cancelled, and ${failures.length} of its steps could not be undone`,
      details: defined({ rollbackFailures, reason: runOutcome.reason }),
    };
    return { status: 'failed', error: reportedFailure(error) };
  }
  return {
    ...runOutcome,
    error: reportedFailure({ ...runOutcome.error, details: { ...runOutcome.error.details, rollbackFailures } }),
  };
}
