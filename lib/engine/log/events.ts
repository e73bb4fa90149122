/**
 * The facts a run is made of. A name here is the engine's own; `event-names.ts` gives each its public one.
 * The fold (`fold.ts`) is the only reader that gives them meaning, and it never needs the definition.
 */
import type { Attempt, IterationKey, NodeId, RunId, SignalId } from '../ids.ts';
import type { JsonObject, Payload } from '../json.ts';
import type { StepInfo } from '../durable/step.ts';
import type { FailureCause } from '../retry/causes.ts';
import type { DurationMs, Instant } from '../time.ts';

/** What went wrong, in words for the reader; the cause is what policies look at. */
export interface Failure {
  readonly cause: FailureCause;
  readonly message: string;
  /** The stable code of the run's or node's error where it is narrower than the cause, e.g. `deadline_exceeded`. */
  readonly code?: string;
  readonly details?: JsonObject;
  /**
   * How the failed node is shown, where that is narrower than failed: `blocked` could not begin, `invalidated` came to an
   * answer that does not count.
   */
  readonly status?: 'blocked' | 'invalidated';
}

/** What a model counted, as its provider reports it. */
export interface TokenCount {
  readonly input: number;
  readonly output: number;
}

export const gatePhases = ['input', 'output'] as const;
type GatePhase = (typeof gatePhases)[number];

/** What stopped an attempt at a gate, told beside its failure. */
export type Gate =
  | { readonly kind: 'contract'; readonly phase: GatePhase; readonly errors: readonly JsonObject[] }
  | { readonly kind: 'moderation'; readonly phase: GatePhase; readonly decision: JsonObject };

/** How a code run ends once everything that it did is undone. */
export type RunOutcome =
  | { readonly status: 'failed' | 'timed_out'; readonly error: Failure }
  | { readonly status: 'cancelled'; readonly reason?: string };

/** How an attempt reaches its worker, and its result the log. */
export type Via =
  /** the worker that made the commit goes on with it */
  | 'inline'
  /** a job on the node queue; its worker commits the result */
  | 'queue'
  /** a job on the node queue; its result goes over the results queue, because many siblings end together */
  | 'collect';

interface NodeIdentity {
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
}

/** What a pass that fails does to its loop. */
export const itemFailurePolicies = ['fail', 'continue'] as const;

/** How a loop goes through its items. */
export interface LoopSettings {
  readonly itemVariable: string;
  readonly indexVariable: string;
  /** passes at a time */
  readonly concurrency: number;
  /** after a pass has ended, none begins for this long */
  readonly delayMs: DurationMs;
  readonly onItemFailure: (typeof itemFailurePolicies)[number];
}

export type SkipReason = 'branch_not_taken' | 'parent_not_successful';

export type RunEvent =
  | { readonly type: 'INPUT_SET'; readonly input: Payload }
  | { readonly type: 'SYSTEM_SET'; readonly key: string; readonly value: Payload }
  | { readonly type: 'RUN_STARTED' }
  /** its workflow limits how many runs are at work: nothing of this one begins before it has one of the places */
  | {
      readonly type: 'SLOT_AWAITED';
      readonly slots: number;
      /** the run was asked to start later */ readonly notBefore?: Instant;
    }
  | { readonly type: 'SLOT_TAKEN'; readonly slot: number }
  | { readonly type: 'RUN_STATUS_CHANGED'; readonly status: 'running' | 'completed' | 'failed' | 'cancelled' }
  | { readonly type: 'RUN_COMPLETED'; readonly output: Payload }
  | { readonly type: 'RUN_FAILED'; readonly error: Failure }
  | { readonly type: 'RUN_TIMED_OUT'; readonly error: Failure }
  | { readonly type: 'RUN_CANCELLED'; readonly reason?: string }
  /** `token` tells the request that asked for it from others, where it may be repeated */
  | { readonly type: 'RUN_RESUMED'; readonly reason?: string; readonly payload?: Payload; readonly token?: string }
  | { readonly type: 'RUN_RECOVERED'; readonly nodes: readonly string[] }
  /** the author's code failed and is run once more; what its steps have completed stands */
  | {
      readonly type: 'RUN_RETRIED';
      readonly attempt: Attempt;
      readonly failure: Failure;
      readonly delayMs: DurationMs;
      readonly retryAt: Instant;
    }
  /** the author's code is over, and what it did is undone before the run ends so */
  | { readonly type: 'ROLLBACK_STARTED'; readonly runOutcome: RunOutcome }
  | (NodeIdentity & {
      readonly type: 'NODE_DISPATCHED';
      readonly attempt: Attempt;
      readonly via: Via;
      readonly wave: number;
      /** its worker takes it no earlier: the run was asked to start later */
      readonly notBefore?: Instant;
      /** only its time is waited for: the worker decides it as its parent's commit would have, and it counts for no budget */
      readonly isPure?: true;
      /** of a code run: what its code asked for */
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
  /** a sleep ended before its time, because somebody asked for it; the completion follows in the same commit */
  | (NodeIdentity & { readonly type: 'NODE_WOKEN'; readonly attempt: Attempt })
  | (NodeIdentity & {
      readonly type: 'SIGNAL_AWAITED';
      readonly attempt: Attempt;
      readonly name: string;
      readonly correlation: string;
      /** when the wait is over without a signal; absent: it lasts as long as the run */
      readonly expiresAt?: Instant;
      /** the way out of a wait that is over without a signal; absent: the node fails then */
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
  /** another workflow is called: the run of it is made after this commit, and this node ends with it */
  | (NodeIdentity & {
      readonly type: 'SUBFLOW_CALLED';
      readonly attempt: Attempt;
      readonly childRunId: RunId;
      readonly workflowName: string;
      /** absent: the latest when the call is carried out */
      readonly version?: number;
      readonly input: Payload;
      /** when the wait for it is over; absent: it lasts as long as the run */
      readonly expiresAt?: Instant;
      /** what becomes of it when nobody waits for it any more */
      readonly parentClosePolicy: 'cancel' | 'abandon';
      /** what becomes of this run when it is cancelled */
      readonly onChildCancelled: 'fail' | 'cancel';
      readonly step?: StepInfo;
    })
  | (NodeIdentity & {
      readonly type: 'NODE_COMPLETED';
      readonly attempt: Attempt;
      readonly output: Payload;
      /** the key of the context that the output is written under, besides `__node_<id>` */
      readonly variable?: string;
      /** which outgoing edges become live; null ends the branch here */
      readonly handle: string | null;
      /** an end node: its output is the run's, or a part of it, and it says whether the run ends well */
      readonly end?: 'success' | 'error';
      /** it was not run: a test said what it ends with */
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
  /** the failure of the attempt, or its repetition, follows in the same commit */
  | (NodeIdentity & {
      readonly type: 'CONTRACT_VIOLATED';
      readonly attempt: Attempt;
      readonly phase: GatePhase;
      readonly errors: readonly JsonObject[];
    })
  /** likewise */
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
      /** the error handle, where the failure is handled by an edge; absent where children decide by their policy */
      readonly handle?: 'error';
      readonly variable?: string;
      readonly startedAt: Instant;
      readonly endedAt: Instant;
      readonly printed?: readonly string[];
      readonly tokens?: TokenCount;
    })
  | (NodeIdentity & { readonly type: 'NODE_SKIPPED'; readonly reason: SkipReason })
  | (NodeIdentity & LoopEvent);

/** What a loop says of itself: `nodeId` is the loop, `iteration` where the loop stands, `index` which of its passes. */
type LoopEvent =
  | (LoopSettings & {
      readonly type: 'LOOP_STARTED';
      readonly attempt: Attempt;
      readonly items: number;
      /** the items in their order, `pageSize` of them in each array */
      readonly pages: readonly Payload[];
      readonly pageSize: number;
    })
  /** `item` where it is small and its page is not at hand; otherwise it is found in its page */
  | { readonly type: 'ITERATION_STARTED'; readonly attempt: Attempt; readonly index: number; readonly item?: Payload }
  /** the result of the pass is the output of the node `from`, or `result` */
  | {
      readonly type: 'ITERATION_ENDED';
      readonly attempt: Attempt;
      readonly index: number;
      readonly status: 'completed' | 'failed';
      readonly from?: NodeId;
      readonly result?: Payload;
    }
  /** results are put away together: `[{ index, payload }, …]` */
  | { readonly type: 'LOOP_RESULTS_STORED'; readonly attempt: Attempt; readonly results: Payload }
  /** no pass begins before then */
  | { readonly type: 'LOOP_PAUSED'; readonly attempt: Attempt; readonly wakeAt: Instant };

export type RunEventType = RunEvent['type'];
