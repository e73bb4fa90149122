/**
 * What the fold knows of a loop at work, and of each pass under way. What a pass did is forgotten when it has ended,
 * but for its result; results are put away in bulk. So the fold of 10,000 items is as large as that of 100.
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
  /** the index that the next pass will have */
  readonly next: number;
  /** the indexes of the passes under way */
  readonly open: readonly number[];
  readonly failed: number;
  /** results that are not put away yet, in the order in which they came */
  readonly pendingResults: readonly IterationResult[];
  /** the length of the fresh results' JSON text, in UTF-16 units or bytes where they are stored apart */
  readonly pendingSize: number;
  /** the same of all results */
  readonly totalSize: number;
  /** arrays of results that were put away together */
  readonly stored: readonly Payload[];
  /** no pass begins before then */
  readonly wakeAt?: Instant;
}

/** One pass of a loop, as long as it is under way. */
export interface LoopIteration {
  readonly loop: NodeRef;
  readonly index: number;
  /** absent: to be found in the loop's pages */
  readonly item?: Payload;
  readonly startedBy: EventId;
  /** the nodes of the body that something has been decided about */
  readonly members: readonly NodeKey[];
  /** how many of them are open */
  readonly open: number;
  /** what they wrote: seen inside the pass alone */
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
