/** Messages that ask for work. Delivered at least once, late, twice and in any order; a kept message comes back. */
import type { Hops } from '../engine/hops.ts';
import type { Attempt, CommitNo, IterationKey, NodeId, RunAddress, RunId, WorkflowName } from '../engine/ids.ts';
import type { CodeCreation, BundleCreation } from '../engine/log/head.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Outcome } from '../engine/graph/outcome.ts';
import type { DurationMs, Instant } from '../engine/time.ts';
import type { Trace } from '../engine/trace.ts';
import type { ScheduleFire } from './recurrences.ts';

/** Which request a message goes back to; absent in messages of runs that do not know theirs. */
interface Traced {
  readonly trace?: Trace;
}

/** Run this attempt of this node. `commit` is the commit that asked for it: an older fold is not good enough. */
export interface NodeJob extends Traced {
  readonly kind: 'node';
  readonly run: RunAddress;
  readonly commit: CommitNo;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  /** 0 for the first send */
  readonly resend: number;
  /** its script took longer than its first slice: the job waits in this group of its project, which has one job in flight */
  readonly slowLane?: number;
}

/** Give this message of a fetch run to the code of its deployment. */
export interface MessageJob extends Omit<NodeJob, 'kind' | 'slowLane'> {
  readonly kind: 'message';
  /** what `run` is: the function that runs code reads no head, because heads lie where it may not write */
  readonly creation: BundleCreation;
}

/** Drive the code of a code run on. */
export interface WorkflowTaskJob extends Omit<NodeJob, 'kind' | 'slowLane'> {
  readonly kind: 'workflow_task';
  /** as a message has it */
  readonly creation: CodeCreation;
}

/** A node sleeps until now: wake it. Early: it waits again. Stale: it changes nothing. */
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

/** Look at the run: whatever was committed and not sent is sent, and last duties are done. */
export interface RecheckJob extends Traced {
  readonly kind: 'recheck';
  readonly run: RunAddress;
}

/** A node of `run` called another run, or did: make it, tell `run` how it ended, or end it where nobody waits for it any more. */
export interface ChildJob extends Traced {
  readonly kind: 'child';
  readonly run: RunAddress;
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
  readonly attempt: Attempt;
  readonly childRunId: RunId;
}

/** `run` awaits a place of its workflow, has one, or had: look at both. */
export interface SlotJob extends Traced {
  readonly kind: 'slot';
  readonly run: RunAddress;
  readonly workflowName: WorkflowName;
  /** when the run was to start: its name among those who wait, should the run be gone */
  readonly since: Instant;
  /** somebody wondered why it waits: whoever holds a place is looked at too */
  readonly isCheck?: true;
}

/** A step of the code run `run` sends a signal. Its code cannot write where signals are matched: the worker does. */
export interface SignalJob extends Traced {
  readonly kind: 'signal';
  readonly run: RunAddress;
  /** of the step: the id of the signal follows from it and from the run */
  readonly key: string;
  readonly name: string;
  readonly correlation: string;
  readonly payload: JsonValue;
}

/** The code run `run` began to wait for signals: the worker notes its waits where signals are matched. */
export interface WaitsJob extends Traced {
  readonly kind: 'waits';
  readonly run: RunAddress;
}

export type Job = NodeJob | MessageJob | WorkflowTaskJob | WakeJob | RecheckJob | ChildJob | SlotJob | SignalJob | WaitsJob;
/** Work that is sent to be taken at once. */
export type WorkJob = NodeJob | MessageJob | WorkflowTaskJob;

/** The result of an attempt that is collected with its siblings'. */
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

/** One of many runs that nodes of `run` called has ended: its log says how. `commit` is the one that called it. */
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
 * Each message carries the hops that led to it, for whoever takes it. A use case leaves them out: the hop limiter
 * (`service/hop-limiter.ts`) counts them. Default: none.
 */
export interface Jobs {
  /** To be taken at once. All are sent when it returns; when it throws, any number may have been. */
  send(jobs: readonly WorkJob[], hops?: Hops): Promise<void>;
  /** To be taken after a delay of at most 900 s, in whole seconds, rounded up. */
  sendDelayed(job: Job, delay: DurationMs, hops?: Hops): Promise<void>;
  sendResult(result: ResultMessage, hops?: Hops): Promise<void>;
  /** Once more what the world's scheduler sent, to be taken at once. */
  sendFire(fire: ScheduleFire): Promise<void>;
}

/** The longest delay a queue keeps a message back, by its service's limit; a longer wait is a timer. */
export const maxQueueDelayMs = 900_000;
