/** The state of one node. A node without a state is pending: no event names it yet. */
import { defined } from '../../base/defined.ts';
import type { StepInfo } from '../durable/step.ts';
import type { Attempt, CommitNo, EventId, IterationKey, NodeId, RunId, SignalId, NodeKey, NodeRef } from '../ids.ts';
import type { Payload } from '../json.ts';
import type { Instant } from '../time.ts';
import type { Failure, SkipReason, Via, LoopSettings } from './events.ts';
import type { ContextWrite } from './run-state.ts';

interface NodeIdentity {
  readonly nodeId: NodeId;
  readonly iteration: IterationKey;
}

/** Known of an attempt since its dispatch. */
export interface DispatchRecord extends NodeIdentity {
  readonly attempt: Attempt;
  readonly via: Via;
  /** the commit that dispatched this attempt; its job names it */
  readonly dispatchedIn: CommitNo;
  readonly dispatchedAt: Instant;
  /** the attempt and its retries see the context as it was before this event */
  readonly pinnedAt: EventId;
  readonly wave: number;
  /** in a code run: the step */
  readonly step?: StepInfo;
  /** attempts of a step that were lost with their worker; absent: none */
  readonly lostAttempts?: number;
}

/** Of a node that is a step: the event by which the code scheduled it. */
export interface EndedStep {
  readonly step?: StepInfo;
  readonly begunBy?: EventId;
}

interface Ended extends NodeIdentity, EndedStep {
  readonly attempt: Attempt;
  /** the run that the last attempt called */
  readonly childRunId?: RunId;
  readonly endedAt: Instant;
  /** the event that ended it; later contexts see its output */
  readonly endedBy: EventId;
  readonly startedAt?: Instant;
  /** of a loop that started */
  readonly iterations?: IterationCounts;
}

export type OpenNode =
  | (DispatchRecord & {
      readonly status: 'queued';
      /** end of the retry backoff, or the requested start of the run */ readonly notBefore?: Instant;
    })
  | (DispatchRecord & { readonly status: 'running'; readonly startedAt: Instant })
  | (DispatchRecord & {
      readonly status: 'waiting';
      readonly for: 'time';
      readonly wakeAt: Instant;
      readonly output: Payload;
    })
  | (DispatchRecord & {
      readonly status: 'waiting';
      readonly for: 'signal';
      readonly name: string;
      readonly correlation: string;
      readonly expiresAt?: Instant;
      readonly expiryHandle?: string;
      /** the received signal; the completion is the next event */
      readonly signalId?: SignalId;
    })
  | (DispatchRecord & { readonly status: 'waiting'; readonly for: 'iterations'; readonly loop: LoopState })
  | (DispatchRecord & {
      readonly status: 'waiting';
      readonly for: 'child';
      readonly childRunId: RunId;
      readonly workflowName: string;
      readonly version?: number;
      readonly input: Payload;
      readonly expiresAt?: Instant;
      readonly parentClosePolicy: 'cancel' | 'abandon';
      readonly onChildCancelled: 'fail' | 'cancel';
    });

/** It occupies no worker: a timer, a signal, a child or its own iterations move it on. */
export type WaitingNode = Extract<OpenNode, { status: 'waiting' }>;
export type LoopWait = Extract<WaitingNode, { for: 'iterations' }>;
export type SignalWait = Extract<WaitingNode, { for: 'signal' }>;
export type ChildWait = Extract<WaitingNode, { for: 'child' }>;

export type EndedNode =
  | (Ended & {
      readonly status: 'completed';
      readonly handle: string | null;
      readonly output: Payload;
      readonly variable?: string;
      readonly end?: 'success' | 'error';
      /** the signal that ended the wait */
      readonly signalId?: SignalId;
    })
  | (Ended & { readonly status: 'failed' | 'timed_out'; readonly failure: Failure; readonly isHandled: boolean })
  | (NodeIdentity & {
      readonly status: 'skipped';
      readonly reason: SkipReason;
      readonly endedAt: Instant;
      readonly endedBy: EventId;
    })
  | (Ended & { readonly status: 'cancelled' });

export type NodeState = OpenNode | EndedNode;

export const isOpen = (node: NodeState): node is OpenNode =>
  node.status === 'queued' || node.status === 'running' || node.status === 'waiting';

/** When a wait ends by itself; undefined if only a signal, a child, its iterations or the end of the run ends it. */
export function waitEndsAt(node: WaitingNode): Instant | undefined {
  switch (node.for) {
    case 'time':
      return node.wakeAt;
    case 'signal':
    case 'child':
      return node.expiresAt;
    case 'iterations':
      return node.loop.wakeAt;
  }
}

/**
 * The fold's state of an open loop and of each open iteration. When an iteration ends, the fold keeps only its result, and results
 * are stored in bulk. So the fold of 10,000 items is as large as that of 100.
 */
export interface IterationResult {
  readonly index: number;
  readonly payload: Payload;
}

export interface IterationCounts {
  readonly items: number;
  readonly started: number;
  readonly ended: number;
  readonly failed: number;
  /** indexes of the first failed items, at most `maxFailedItems`; absent: none */
  readonly failedItems?: readonly number[];
}

export interface LoopState extends LoopSettings {
  readonly startedAt: Instant;
  readonly items: number;
  readonly pages: readonly Payload[];
  readonly pageSize: number;
  /** index of the next iteration */
  readonly next: number;
  /** indexes of the open iterations */
  readonly open: readonly number[];
  readonly failed: number;
  /** as in `IterationCounts` */
  readonly failedItems?: readonly number[];
  /** results that are not stored yet, in the order of their completion */
  readonly pendingResults: readonly IterationResult[];
  /** length of the pending results as JSON: UTF-16 units, or bytes for an offloaded result */
  readonly pendingSize: number;
  /** the same for all results */
  readonly totalSize: number;
  /** arrays of results that were stored together */
  readonly stored: readonly Payload[];
  /** no iteration begins before this time */
  readonly wakeAt?: Instant;
}

/** An open iteration of a loop. */
export interface LoopIteration {
  readonly loop: NodeRef;
  readonly index: number;
  /** absent: read it from the loop's pages */
  readonly item?: Payload;
  readonly startedBy: EventId;
  /** nodes of the loop body that have a state */
  readonly members: readonly NodeKey[];
  /** number of open members */
  readonly open: number;
  /** context values that only this iteration sees */
  readonly contextWrites: Readonly<Record<string, readonly ContextWrite[]>>;
}

/** A fold and a response name this many failed items of a loop; the events contain all. */
export const maxFailedItems = 20;

export const iterationCountsOf = ({ items, next, open, failed, failedItems }: LoopState): IterationCounts =>
  defined({ items, started: next, ended: next - open.length, failed, failedItems });

export const payloadSize = (payload: Payload): number =>
  'ref' in payload ? payload.bytes : JSON.stringify(payload.value).length;
