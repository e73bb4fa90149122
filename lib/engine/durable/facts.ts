/** Facts of a code run, and the decision about them in progress. */
import type { CommonFact, Decision, DecisionTools, NodeLost } from '../decision.ts';
import type { Fact } from '../graph/facts.ts';
import type { Attempt, NodeRef, RunId } from '../ids.ts';
import type { Failure } from '../log/events.ts';
import type { Instant } from '../time.ts';
import type { CommandBatch } from './command-batch.ts';

interface WorkflowTaskFields {
  readonly node: NodeRef;
  readonly attempt: Attempt;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
}

export type CodeFact =
  | CommonFact
  | NodeLost
  | Extract<Fact, { kind: 'node-woken' | 'wake-requested' | 'resume-requested' | 'signal-received' | 'child-ended' }>
  /** the events for one fact fit no commit: the run fails */
  | { readonly kind: 'commit-too-large'; readonly failure: Failure }
  | (WorkflowTaskFields & { readonly kind: 'command-batch'; readonly batch: CommandBatch })
  /** the code crashed its thread; the steps that were running fail with it */
  | (WorkflowTaskFields & {
      readonly kind: 'workflow-task-crashed';
      readonly failure: Failure;
      readonly running: readonly { readonly key: string; readonly attempt: Attempt }[];
    })
  /** the code cannot run now (it diverged, is unknown or cannot be loaded); no step attempt is counted */
  | (WorkflowTaskFields & { readonly kind: 'workflow-task-deferred'; readonly failure: Failure });

export interface CodeTools extends DecisionTools {
  /** the id of the run that this attempt of a node calls */
  readonly childRunId: (node: NodeRef, attempt: Attempt) => RunId;
}

/** A decision about a code run in progress. */
export type Draft = Decision<CodeTools>;
