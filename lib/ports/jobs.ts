/** Messages that request work. Delivery is at least once, possibly late and out of order. */
import type { Outcome } from '../engine/graph/outcome.ts';
import type { Hops } from '../engine/hops.ts';
import type { Attempt, CommitNo, DeploymentId, IterationKey, NodeId, RunAddress, RunId, WorkflowName } from '../engine/ids.ts';
import type { JsonValue, Payload } from '../engine/json.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { RunEnd } from '../engine/log/fold.ts';
import type { CodeCreation, BundleCreation, DevKitCreation, GraphCreation } from '../engine/log/head.ts';
import type { DurationMs, Instant } from '../engine/time.ts';
import type { Trace } from '../engine/trace.ts';
import type { ScheduleFire } from './schedules.ts';

/** The trace of the request that started the run; absent if the run has none. */
interface Traced {
  readonly trace?: Trace;
}

/** Execute this attempt of this node. `commit` is the commit that dispatched it; the worker must not use an older fold. */
export interface NodeJob extends Traced {
  readonly kind: 'node';
  readonly run: RunAddress;
  readonly commit: CommitNo;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  /** 0 for the first send */
  readonly resend: number;
  /** The script exceeded its time slice. The job goes to this message group of its project, with one job in flight. */
  readonly slowLane?: number;
  /** The run as of `commit`: a worker that has the message at once need not read it. */
  readonly carried?: CarriedRun;
}

/** A small run with its whole log. */
export interface CarriedRun {
  readonly creation: GraphCreation;
  /** the commits after the first */
  readonly commits: readonly Commit[];
}

/** The first jobs of several runs, in one message of the node queue. */
export interface JobsTogether {
  readonly jobs: readonly [NodeJob, ...NodeJob[]];
}

/** Deliver this message of a bundle run to the code of its deployment. */
export interface MessageJob extends Omit<NodeJob, 'kind' | 'slowLane' | 'carried'> {
  readonly kind: 'message';
  /** What the run was created from. The code function cannot read heads: its role covers only the partitions of code runs. */
  readonly creation: BundleCreation;
}

/** Run a workflow task of a code run. */
export interface WorkflowTaskJob extends Omit<NodeJob, 'kind' | 'slowLane' | 'carried'> {
  readonly kind: 'workflow_task';
  /** What the run was created from, as in `MessageJob`. */
  readonly creation: CodeCreation;
}

/**
 * Deliver a message of the Workflow DevKit to the code of a run. It is in queues only: the code replays its log, so the sweep can send
 * the run's name again in place of a lost message.
 */
export interface DevKitJob extends Traced {
  readonly kind: 'devkit';
  /** the run of the message; for a health check a run that does not exist */
  readonly run: RunAddress;
  /** What the run was created from; absent for a health check. The code function cannot read heads. */
  readonly creation?: DevKitCreation;
  /** which deployment, or which address of an application, receives it */
  readonly deploymentId: DeploymentId;
  readonly queueName: string;
  /** Messages of a lane are delivered one at a time: those of a run, or of one step of it. */
  readonly lane?: string;
  /** the same for each delivery of a message */
  readonly messageId: string;
  /** A queue drops a message with the same deduplication within five minutes. */
  readonly deduplication: string;
  /** 1 for the first delivery; receives of a queue count too */
  readonly attempt: Attempt;
  /** with tags for bytes and times; a large one is in the bucket */
  readonly message: Payload;
  /** the message is not delivered earlier */
  readonly notBefore?: Instant;
}

/** Wake a sleeping node. A job that is early is sent again; a stale one changes nothing. */
export interface WakeJob extends Traced {
  readonly kind: 'wake';
  readonly run: RunAddress;
  readonly commit: CommitNo;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  /** absent for the first send */
  readonly resend?: number;
}

/** Check the run: redispatch committed effects that were not sent, and complete its finalization. */
export interface RecheckJob extends Traced {
  readonly kind: 'recheck';
  readonly run: RunAddress;
}

/** Reconcile a child run with the node of `run` that called it: create the child, report its end, or close it. */
export interface ChildJob extends Traced {
  readonly kind: 'child';
  readonly run: RunAddress;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  readonly childRunId: RunId;
}

/** Reconcile the run with its concurrency slot: it waits for one, holds one, or held one. */
export interface SlotJob extends Traced {
  readonly kind: 'slot';
  readonly run: RunAddress;
  readonly workflowName: WorkflowName;
  /** when the run was due to start; with the run id it finds the waiting entry, also if the run is deleted */
  readonly since: Instant;
  /** the run waits longer than expected: the runs that hold slots are checked too */
  readonly isCheck?: true;
}

/** Store a signal that a step of the code run `run` sends. The code function cannot write signals; the worker does. */
export interface SignalJob extends Traced {
  readonly kind: 'signal';
  readonly run: RunAddress;
  /** the step's key; the signal id derives from it and from the run */
  readonly key: string;
  readonly name: string;
  readonly correlation: string;
  readonly payload: JsonValue;
}

/** Register the signal waits of the code run `run`. The code function cannot write them; the worker does. */
export interface WaitsJob extends Traced {
  readonly kind: 'waits';
  readonly run: RunAddress;
}

/**
 * Move the expiry of all that the run has stored, after its deadline was extended. Handled 15 minutes after the commit: then no attempt
 * writes with the earlier expiry any more. The message names the run and nothing else, because deployed code can forge it: the head has
 * the progress of a long run.
 */
export interface RetentionJob extends Traced {
  readonly kind: 'retention';
  readonly run: RunAddress;
}

export type Job =
  | NodeJob
  | MessageJob
  | WorkflowTaskJob
  | DevKitJob
  | WakeJob
  | RecheckJob
  | ChildJob
  | SlotJob
  | SignalJob
  | WaitsJob
  | RetentionJob;
/** Jobs that are available at once, without a delay. */
export type WorkJob = NodeJob | MessageJob | WorkflowTaskJob | DevKitJob;

/** The result of an attempt, which the collector commits together with the results of its siblings. */
export interface AttemptResult extends Traced {
  readonly run: RunAddress;
  readonly commit: CommitNo;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly printed: readonly string[];
}

/** A child run has ended; its log has the outcome. `commit` is the commit that called the child. */
export interface ChildResult extends Traced {
  readonly run: RunAddress;
  readonly commit: CommitNo;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  readonly childRunId: RunId;
}

export type ResultMessage = AttemptResult | ChildResult;

/**
 * Each message carries the number of hops that led to it. Use cases omit it: the hop limiter
 * (`service/execution/hop-limiter.ts`) counts hops. Default: 0.
 */
export interface Jobs {
  /** Sends jobs without a delay. All are sent when it resolves; when it throws, any number of them may have been sent. */
  send(jobs: readonly WorkJob[], hops?: Hops): Promise<void>;
  /**
   * Sends the first jobs of several runs, those of nodes in one message where the queue allows it. A worker executes the jobs of that
   * message one after the other (`service/execution/handle-jobs-together.ts`).
   */
  sendTogether(jobs: readonly WorkJob[], hops?: Hops): Promise<void>;
  /** Sends a job with a delay of at most 900 s, rounded up to whole seconds. */
  sendDelayed(job: Job, delay: DurationMs, hops?: Hops): Promise<void>;
  sendResult(result: ResultMessage, hops?: Hops): Promise<void>;
  /** Sends a fire of a schedule again, without a delay. */
  sendFire(fire: ScheduleFire): Promise<void>;
}

/** A job that a function is called with, in place of a message. */
export interface JobCall<Called extends Job = Job> {
  readonly job: Called;
  /** the run of a node job, as it was created: the function need not read it */
  readonly run?: GraphCreation;
  /** the start has not written the head of the run: the function writes it, with what it has executed by then */
  readonly isUnwritten?: true;
}

/**
 * What became of a job that a function was called with:
 * - `ended`: the function has handled it, and commits nothing more for it. With `end`, its run has ended so, as the log tells, and the
 *   head exists; a function that executes deployed code says nothing about the end, because the code could say it;
 * - `refused`: it did not begin, so the job can have a queue;
 * - `unknown`: it may have begun and may still run. The sweep finds the run if it does not.
 */
export type JobCallResult = { readonly kind: 'ended'; readonly end?: RunEnd } | { readonly kind: 'refused' | 'unknown' };

/** Calls the function that executes jobs of this kind, and waits until it has ended. */
export interface JobCalls {
  /**
   * Never rejects.
   * @param signal ends the wait, and not the function
   */
  call(call: JobCall<WorkJob>, signal: AbortSignal): Promise<JobCallResult>;
}

/**
 * What became of a called run and its caller:
 * - `reconciled`: as a message would have reconciled them, but the workflow tasks that follow have no message;
 * - `needs_message`: nothing is known, so a message must reconcile them.
 */
export type ReconciledChild =
  | { readonly kind: 'reconciled'; readonly tasks: readonly ReconciledTask[] }
  | { readonly kind: 'needs_message' };

/** A workflow task without a message. */
export interface ReconciledTask {
  readonly job: WorkflowTaskJob;
  /** all commits of the run after its first, if they are few and small: then the process need not read them. Absent: it reads them */
  readonly commits?: readonly Commit[];
}

/**
 * What the process that requests a reconciliation knows of the runs. Fewer calls wait for each other then. It changes nothing of what is
 * done: only the logs decide that.
 * - `callerAsOf`, `childAsOf`: a commit of the log; absent: none is known.
 * - `isCallerMarked`: the sweep checks the caller in two minutes, so that the end of the call can be committed to it.
 */
export type ExpectedChild =
  | { readonly kind: 'starts'; readonly workflowName: string; readonly callerAsOf?: CommitNo }
  | {
      readonly kind: 'has_ended';
      readonly callerAsOf?: CommitNo;
      readonly childAsOf?: CommitNo;
      readonly isCallerMarked?: true;
    };

export interface ReconcileRequest {
  readonly job: ChildJob;
  readonly expected: ExpectedChild;
}

/** Reconciles runs of code with the runs of code that they call, for a process that may not create runs or commit to other ones. */
export interface ChildReconciler {
  /** Never rejects. */
  reconcile(request: ReconcileRequest): Promise<ReconciledChild>;
}

/** The maximum delay of a message (SQS's limit). A longer wait needs a timer. */
export const maxQueueDelayMs = 900_000;

/** One-time timers, for waits beyond the maximum delay of a queue. Precise to a minute; may fire late or twice. */
export interface Timers {
  /** Sends the job to the delay queue at that time. Idempotent by `name`. */
  set(timer: { readonly name: string; readonly at: Instant; readonly job: Job }): Promise<void>;
}

export interface MessagingPorts {
  readonly jobs: Jobs;
  readonly timers: Timers;
}
