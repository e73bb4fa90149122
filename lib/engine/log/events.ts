/**
 * The events of a run's log. These names are internal; `event-names.ts` gives each its public name.
 * Only the fold (`fold.ts`) interprets them, and it does not need the workflow definition.
 */
import type { Attempt, IterationKey, NodeId, RunId, SignalId } from '../ids.ts';
import type { JsonObject, Payload } from '../json.ts';
import type { DevKitEvent } from '../devkit/events.ts';
import type { StepInfo } from '../durable/step.ts';
import type { FailureCause } from '../retry.ts';
import type { DurationMs, Instant } from '../time.ts';

/** Why an attempt or a run failed: a message for readers, and the cause that policies evaluate. */
export interface Failure {
  readonly cause: FailureCause;
  readonly message: string;
  /** stable error code where it is narrower than the cause, e.g. `deadline_exceeded` */
  readonly code?: string;
  readonly details?: JsonObject;
  /**
   * Node status where it is narrower than failed: `blocked` could not begin, `invalidated` produced an output that does not count.
   */
  readonly status?: 'blocked' | 'invalidated';
}

/** Tokens as the model provider reports them. */
export interface TokenCount {
  readonly input: number;
  readonly output: number;
}

export const gatePhases = ['input', 'output'] as const;
type GatePhase = (typeof gatePhases)[number];

/** The gate that stopped an attempt, recorded beside its failure. */
export type Gate =
  | { readonly kind: 'contract'; readonly phase: GatePhase; readonly errors: readonly JsonObject[] }
  | { readonly kind: 'moderation'; readonly phase: GatePhase; readonly decision: JsonObject };

/** How a code run ends after its rollback. */
export type RunOutcome =
  | { readonly status: 'failed' | 'timed_out'; readonly error: Failure }
  | { readonly status: 'cancelled'; readonly reason?: string };

/** How the worker receives an attempt, and how its result reaches the log. */
export type Via =
  /** the worker that made the commit runs the attempt itself; in the first commit, a function that the start invokes */
  | 'inline'
  /** a job on the node queue; its worker commits the result */
  | 'queue'
  /** a job on the node queue; its result goes to the results queue, because many siblings end together */
  | 'collect';

interface NodeIdentity {
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
}

/** What a failed iteration does to its loop. */
export const itemFailurePolicies = ['fail', 'continue'] as const;

/** How a loop processes its items. */
export interface LoopSettings {
  readonly itemVariable: string;
  readonly indexVariable: string;
  /** iterations at a time */
  readonly concurrency: number;
  /** pause after an iteration ends before the next begins */
  readonly delayMs: DurationMs;
  readonly onItemFailure: (typeof itemFailurePolicies)[number];
}

export type SkipReason = 'branch_not_taken' | 'parent_not_successful';

export type RunEvent =
  | { readonly type: 'INPUT_SET'; readonly input: Payload }
  | { readonly type: 'SYSTEM_SET'; readonly key: string; readonly value: Payload }
  | { readonly type: 'RUN_STARTED' }
  /** its workflow limits concurrent runs: nothing of this run begins before it has a slot */
  | {
      readonly type: 'SLOT_AWAITED';
      readonly slots: number;
      /** the requested start time */ readonly notBefore?: Instant;
    }
  | { readonly type: 'SLOT_TAKEN'; readonly slot: number }
  | { readonly type: 'RUN_STATUS_CHANGED'; readonly status: 'running' | 'completed' | 'failed' | 'cancelled' }
  | { readonly type: 'RUN_COMPLETED'; readonly output: Payload }
  | { readonly type: 'RUN_FAILED'; readonly error: Failure }
  | { readonly type: 'RUN_TIMED_OUT'; readonly error: Failure }
  | { readonly type: 'RUN_CANCELLED'; readonly reason?: string }
  /** `token` identifies the request, so that a repeated request resumes once */
  | { readonly type: 'RUN_RESUMED'; readonly reason?: string; readonly payload?: Payload; readonly token?: string }
  | { readonly type: 'RUN_RECOVERED'; readonly nodes: readonly string[] }
  /** the run waits, and its deadline was not declared: the deadline and the expiry of the run's items move */
  | { readonly type: 'DEADLINE_EXTENDED'; readonly deadlineAt: Instant }
  /** the author's code failed and runs again; results of completed steps stand */
  | {
      readonly type: 'RUN_RETRIED';
      readonly attempt: Attempt;
      readonly failure: Failure;
      readonly delayMs: DurationMs;
      readonly retryAt: Instant;
    }
  /** the author's code ended without success; the run ends with this outcome after the rollback */
  | { readonly type: 'ROLLBACK_STARTED'; readonly runOutcome: RunOutcome }
  | (NodeIdentity & {
      readonly type: 'NODE_DISPATCHED';
      readonly attempt: Attempt;
      readonly via: Via;
      readonly wave: number;
      /** the worker starts it no earlier: the requested start time of the run */
      readonly notBefore?: Instant;
      /** a pure node that only waits for the start time: the worker decides it like its parent's commit would; no budget counts it */
      readonly isPure?: true;
      /** in a code run: the step */
      readonly step?: StepInfo;
    })
  | (NodeIdentity & { readonly type: 'NODE_STARTED'; readonly attempt: Attempt; readonly startedAt: Instant })
  | (NodeIdentity & {
      readonly type: 'SLEEP_STARTED';
      readonly attempt: Attempt;
      readonly wakeAt: Instant;
      readonly output: Payload;
      readonly step?: StepInfo;
    })
  /** a request ended a sleep early; the completion follows in the same commit */
  | (NodeIdentity & { readonly type: 'NODE_WOKEN'; readonly attempt: Attempt })
  | (NodeIdentity & {
      readonly type: 'SIGNAL_AWAITED';
      readonly attempt: Attempt;
      readonly name: string;
      readonly correlation: string;
      /** when the wait ends without a signal; absent: with the run */
      readonly expiresAt?: Instant;
      /** the handle that the node takes when the wait ends without a signal; absent: the node fails */
      readonly expiryHandle?: string;
      readonly step?: StepInfo;
    })
  /** the completion follows in the same commit */
  | (NodeIdentity & {
      readonly type: 'SIGNAL_RECEIVED';
      readonly attempt: Attempt;
      readonly signalId: SignalId;
      readonly name: string;
      readonly correlation: string;
    })
  /** calls another workflow: the child run is created after this commit, and its end completes this node */
  | (NodeIdentity & {
      readonly type: 'SUBFLOW_CALLED';
      readonly attempt: Attempt;
      readonly childRunId: RunId;
      readonly workflowName: string;
      /** absent: the latest version when the child run is created */
      readonly version?: number;
      readonly input: Payload;
      /** when the wait for the child ends; absent: with the run */
      readonly expiresAt?: Instant;
      /** what happens to the child when this node no longer waits for it */
      readonly parentClosePolicy: 'cancel' | 'abandon';
      /** what happens to this run when the child is cancelled */
      readonly onChildCancelled: 'fail' | 'cancel';
      readonly step?: StepInfo;
    })
  | (NodeIdentity & {
      readonly type: 'NODE_COMPLETED';
      readonly attempt: Attempt;
      readonly output: Payload;
      /** the context key of the output, besides `__node_<id>` */
      readonly variable?: string;
      /** selects the outgoing edges that become live; null: none */
      readonly handle: string | null;
      /** of an end node: its output is the run's output or a part of it, and this is whether the run succeeds */
      readonly end?: 'success' | 'error';
      /** a test run supplied the output; the node did not run */
      readonly isPinned?: true;
      readonly startedAt: Instant;
      readonly endedAt: Instant;
      readonly printed?: readonly string[];
      readonly tokens?: TokenCount;
    })
  | (NodeIdentity & {
      readonly type: 'NODE_RETRIED';
      /** the attempt that failed; the next one is this plus one */
      readonly attempt: Attempt;
      readonly failure: Failure;
      readonly delayMs: DurationMs;
      readonly retryAt: Instant;
      readonly startedAt: Instant;
      readonly endedAt: Instant;
      readonly via: Via;
      readonly printed?: readonly string[];
      readonly tokens?: TokenCount;
    })
  /** the failure or retry of the attempt follows in the same commit */
  | (NodeIdentity & {
      readonly type: 'CONTRACT_VIOLATED';
      readonly attempt: Attempt;
      readonly phase: GatePhase;
      readonly errors: readonly JsonObject[];
    })
  /** the failure or retry of the attempt follows in the same commit */
  | (NodeIdentity & {
      readonly type: 'MODERATION_FLAGGED';
      readonly attempt: Attempt;
      readonly phase: GatePhase;
      readonly decision: JsonObject;
    })
  | (NodeIdentity & {
      readonly type: 'NODE_FAILED';
      readonly attempt: Attempt;
      readonly failure: Failure;
      /** set if an error edge handles the failure; otherwise each child's policy decides */
      readonly handle?: 'error';
      readonly variable?: string;
      readonly startedAt: Instant;
      readonly endedAt: Instant;
      readonly printed?: readonly string[];
      readonly tokens?: TokenCount;
    })
  | (NodeIdentity & { readonly type: 'NODE_SKIPPED'; readonly reason: SkipReason })
  | (NodeIdentity & LoopEvent)
  | DevKitEvent;

/** Events of a loop: `nodeId` is the loop node, `iteration` the iteration that contains it, `index` its own iteration. */
type LoopEvent =
  | (LoopSettings & {
      readonly type: 'LOOP_STARTED';
      readonly attempt: Attempt;
      readonly items: number;
      /** the items in order, `pageSize` per array */
      readonly pages: readonly Payload[];
      readonly pageSize: number;
    })
  /** `item` is set if it is small and its page is offloaded; otherwise readers find it in its page */
  | { readonly type: 'ITERATION_STARTED'; readonly attempt: Attempt; readonly index: number; readonly item?: Payload }
  /** the result of the iteration is the output of node `from`, or `result` */
  | {
      readonly type: 'ITERATION_ENDED';
      readonly attempt: Attempt;
      readonly index: number;
      readonly status: 'completed' | 'failed';
      readonly from?: NodeId;
      readonly result?: Payload;
    }
  /** results stored together: `[{ index, payload }, …]` */
  | { readonly type: 'LOOP_RESULTS_STORED'; readonly attempt: Attempt; readonly results: Payload }
  /** no iteration begins before `wakeAt` */
  | { readonly type: 'LOOP_PAUSED'; readonly attempt: Attempt; readonly wakeAt: Instant };

export type RunEventType = RunEvent['type'];
