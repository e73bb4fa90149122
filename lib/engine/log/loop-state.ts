/**
 * The fold's state of an open loop and of each open iteration. When an iteration ends, the fold keeps only its result, and results
 * are stored in bulk. So the fold of 10,000 items is as large as that of 100.
 */
import type { EventId, NodeKey, NodeRef } from '../ids.ts';
import type { Payload } from '../json.ts';
import type { Instant } from '../time.ts';
import type { LoopSettings } from './events.ts';
import type { ContextWrite } from './run-state.ts';

export interface IterationResult {
  readonly index: number;
  readonly payload: Payload;
}

export interface IterationCounts {
  readonly items: number;
  readonly started: number;
  readonly ended: number;
  readonly failed: number;
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

export const iterationCountsOf = ({ items, next, open, failed }: LoopState): IterationCounts => ({
  items,
  started: next,
  ended: next - open.length,
  failed,
});

export const payloadSize = (payload: Payload): number =>
  'ref' in payload ? payload.bytes : JSON.stringify(payload.value).length;
