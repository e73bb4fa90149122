/** The state of a code run, beside its nodes. */
import type { Attempt, EventId, NodeId } from '../ids.ts';
import type { RunOutcome } from './events.ts';

export interface CodeState {
  /** workflow tasks so far; also the number of the last one */
  readonly workflowTasks: number;
  /** attempts of all steps, retries included */
  readonly stepAttempts: number;
  /** 1 for the first attempt of the workflow */
  readonly attempt: Attempt;
  /** id of the event that began this attempt of the workflow: steps begun later belong to it, results of earlier steps stand */
  readonly attemptStartedAfter: EventId;
  /** for each step that calls a workflow: its failed calls in earlier attempts of the workflow; a new attempt calls a new run */
  readonly failedCalls?: Readonly<Record<NodeId, number>>;
  /** set when the rollback begins: how the run ends after it */
  readonly runOutcome?: RunOutcome;
  /** `workflowTasks` when the rollback began; a task that was lost before then leaves the rollback to another task */
  readonly workflowTasksAtRollback?: number;
}
