/** What executes the jobs of runs: the processes of each kind of job, and what they know of a delivery. */
import type { Fact } from '../engine/graph/facts.ts';
import type { Instant } from '../engine/time.ts';
import type { Bundles } from '../ports/bundles.ts';
import type { AppCalls } from '../ports/devkit.ts';
import type { ChildReconciler, DevKitJob, MessageJob, NodeJob, WorkflowTaskJob } from '../ports/jobs.ts';
import type { Programs } from '../ports/programs.ts';
import type { RunAttempt } from './commit/plans.ts';
import type { Decider } from './decider.ts';
import type { KnownDeployments } from './deployments/known-deployments.ts';
import type { KindName } from './run-kind.ts';
import type { FoldCache } from './run-log/fold-cache.ts';
import type { RunFold } from './run-log/read-run-fold.ts';

/** Executes the nodes of graph runs. */
export interface Worker extends Decider {
  readonly foldCache: FoldCache;
  readonly runAttempt: RunAttempt;
}

/** Executes the workflow tasks of code runs. */
export interface WorkflowTaskWorker extends Decider {
  readonly programs: Programs;
  /** absent: messages request what called runs and their callers need */
  readonly reconciler?: ChildReconciler | undefined;
}

/** Delivers messages to the bundles of bundle runs. */
export interface Deliverer extends Decider {
  readonly bundles: Bundles;
}

/** Delivers messages of the Workflow DevKit. */
export interface DevKitDeliverer extends Deliverer {
  readonly apps: AppCalls;
  readonly known: KnownDeployments;
}

/** Which process executes which job, by the kind of the run. */
export interface Executions {
  readonly graph: { readonly worker: Worker; readonly job: NodeJob };
  readonly code: { readonly worker: WorkflowTaskWorker; readonly job: WorkflowTaskJob };
  readonly bundle: { readonly worker: Deliverer; readonly job: MessageJob };
  readonly devkit: { readonly worker: DevKitDeliverer; readonly job: DevKitJob };
}

/** How the jobs of a run kind are executed. Only functions that receive jobs bundle it (`kinds/run-executions.ts`). */
export interface KindExecution<Kind extends KindName> {
  /** Handles the job, if its attempt is still open. */
  execute(worker: Executions[Kind]['worker'], job: Executions[Kind]['job'], delivery: Delivery): Promise<void>;
  /** Commits that a wait has ended: at its time, or because the called run has ended. @returns undefined if another writer ended it */
  endWait(
    worker: Worker,
    fold: RunFold,
    fact: Extract<Fact, { kind: 'node-woken' | 'child-ended' }>,
  ): Promise<Continuation | undefined>;
}

/** Exhaustive, as the table of the kinds. */
export type KindExecutions = { readonly [Kind in KindName]: KindExecution<Kind> } & {
  readonly graph: {
    /**
     * Executes the first job of a run that its start has not written, and writes its head.
     * @param fold of the run that is not in the log
     */
    begin(worker: Worker, fold: RunFold, job: NodeJob, delivery: Delivery): Promise<void>;
  };
};

/** Handles the jobs of all kinds that no deployed code is needed for, and ends the waits of all runs. */
export interface JobHandler extends Worker {
  readonly executions: KindExecutions;
}

export interface Delivery {
  /** the message was delivered before: its work may be complete, partly complete, or lost */
  readonly isRedelivered: boolean;
  /** receives of the message by its queue, this one included; absent: 1 */
  readonly receives?: number;
  /** end of this invocation's time */
  readonly mustEndAt: Instant;
  /** it came from the delay queue, which has no message groups and so no fair shares */
  readonly isDelayed?: boolean;
  /** aborts when the worker shuts down: a workflow task then suspends after its next command batch, as near its time limit */
  readonly drainSignal?: AbortSignal;
}

/** Runs the ready nodes that follow from a commit, within the delivery's invocation. */
export type Continuation = (delivery: Delivery) => Promise<void>;
