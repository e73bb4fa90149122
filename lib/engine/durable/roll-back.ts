/** A run that does not end well undoes what it did; where it cannot come to the end of that, it says which steps stay as they are. */
import { topLevel } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Ending, Failure } from '../log/events.ts';
import { toldFailure } from '../log/failure-limits.ts';
import { type Draft, emit, endAs, nodeOf } from './draft.ts';
import { rollbackPrefix, stepNodeId } from './step.ts';

/** The run fails, or is cancelled: at once, or after what it did is undone; or it was about that, and this is why it does not go on. */
export function endOrRollBack(draft: Draft, ending: Ending): void {
  const begun = draft.state.code?.ending;
  if (begun !== undefined) return endUndone(draft, begun, reasonOf(ending));
  if (!hasSomethingToUndo(draft)) return endAs(draft, ending);
  emit(draft, { type: 'ROLLBACK_STARTED', ending });
}

const reasonOf = (ending: Ending): string =>
  ending.status === 'cancelled' ? (ending.reason ?? 'the run was cancelled') : ending.error.message;

export const hasSomethingToUndo = ({ state }: Draft): boolean => {
  if (state.code?.ending !== undefined) return false;
  for (const [, node] of state.nodes.entries()) if (node.status === 'completed' && node.step?.hasRollback === true) return true;
  return false;
};

/** A step that was done and is not undone. */
interface NotUndone {
  readonly key: string;
  readonly failure: Pick<Failure, 'message'>;
}

/** @param why no rollback is run any more */
export function endUndone(draft: Draft, ending: Ending, why: string): void {
  endAs(draft, withFailures(ending, leftUndone(draft, why)));
}

/** What has a rollback that did not come to a good end, the last one done first. */
function leftUndone(draft: Draft, why: string): readonly NotUndone[] {
  const done = [...draft.state.nodes.entries()].flatMap(([, node]) =>
    node.status === 'completed' && node.step?.hasRollback === true ? [{ key: node.step.key, endedBy: node.endedBy }] : [],
  );
  return done
    .toSorted((one, other) => other.endedBy - one.endedBy)
    .flatMap(({ key }) => {
      const rollback = nodeOf(draft, { nodeId: stepNodeId(`${rollbackPrefix}${key}`), iteration: topLevel });
      if (rollback?.status === 'completed') return [];
      const failure = rollback !== undefined && 'failure' in rollback ? rollback.failure : undefined;
      return [{ key, failure: failure ?? { message: `its rollback was not run to its end: ${why}` } }];
    });
}

/** What could not be undone is said of the run; one that was cancelled has failed then, because somebody has to look at it. */
export function withFailures(ending: Ending, failures: readonly NotUndone[]): Ending {
  if (failures.length === 0) return ending;
  const rollbackFailures = failures.map(({ key, failure }): JsonObject => ({ step: key, message: failure.message }));
  if (ending.status === 'cancelled') {
    const error: Failure = {
      cause: 'error',
      code: 'rollback_failed',
      message: `the run was cancelled, and ${failures.length} of its steps could not be undone`,
      details: { rollbackFailures, ...(ending.reason === undefined ? {} : { reason: ending.reason }) },
    };
    return { status: 'failed', error: toldFailure(error) };
  }
  return { ...ending, error: toldFailure({ ...ending.error, details: { ...ending.error.details, rollbackFailures } }) };
}
