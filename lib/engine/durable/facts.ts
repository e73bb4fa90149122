/** What can happen to a code run, and what deciding it needs besides. */
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
  | Extract<
      Fact,
      {
        kind:
          | 'node-started'
          | 'node-woken'
          | 'wake-requested'
          | 'resume-requested'
          | 'signal-received'
          | 'child-ended'
          | 'node-lost'
          | 'cancel-requested'
          | 'deadline-passed'
          | 'recovered';
      }
    >
  /** what was to be committed for one fact fits no commit: the run ends by this */
  | { readonly kind: 'commit-too-large'; readonly failure: Failure }
  | (WorkflowTaskFields & { readonly kind: 'command-batch'; readonly batch: CommandBatch })
  /** the code broke its thread; the bodies that were at work then have failed with it */
  | (WorkflowTaskFields & {
      readonly kind: 'workflow-task-crashed';
      readonly failure: Failure;
      readonly running: readonly { readonly key: string; readonly attempt: Attempt }[];
    })
  /** the code cannot be driven now (it diverged, is unknown or cannot be loaded): that is nobody's attempt */
  | (WorkflowTaskFields & { readonly kind: 'workflow-task-deferred'; readonly failure: Failure });

export interface CodeTools {
  readonly now: Instant;
  readonly deadlineAt: Instant;
  /** the run that this attempt of a node calls */
  readonly childRunId: (node: NodeRef, attempt: Attempt) => RunId;
}
