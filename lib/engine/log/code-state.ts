/** What a run of code that is replayed has come to, beside its nodes. */
import type { Attempt, EventId, NodeId } from '../ids.ts';
import type { RunOutcome } from './events.ts';

export interface CodeState {
  /** how many drives there were: the number of the last one */
  readonly workflowTasks: number;
  /** of all steps, the further attempts too */
  readonly stepAttempts: number;
  /** 1 for the first attempt of the workflow */
  readonly attempt: Attempt;
  /** this attempt of the workflow asked for what was begun after this event; what was completed before it stands */
  readonly attemptStartedAfter: EventId;
  /** how many runs that a step called have failed in earlier attempts of the workflow: it calls another one then */
  readonly failedCalls?: Readonly<Record<NodeId, number>>;
  /** what was done is being undone, and then the run ends so */
  readonly runOutcome?: RunOutcome;
  /** how many drives there had been when that began: one of them may be lost, and what was done is undone by another */
  readonly workflowTasksAtRollback?: number;
}
