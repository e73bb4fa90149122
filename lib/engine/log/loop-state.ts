/**
 * What the fold knows of a loop at work, and of each pass under way. What a pass did is forgotten when it has ended,
 * but for its result; results are put away in bulk. So the fold of 10,000 items is as large as that of 100.
 */
import type { EventId, NodeKey, NodeRef } from '../ids.ts';
import type { Payload } from '../json.ts';
import type { Instant } from '../time.ts';
import type { LoopTerms } from './events.ts';
import type { Written } from './run-state.ts';

export interface PassResult {
  readonly index: number;
  readonly payload: Payload;
}

export interface PassCounts {
  readonly items: number;
  readonly started: number;
  readonly ended: number;
  readonly failed: number;
}

export interface LoopState extends LoopTerms {
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
  readonly fresh: readonly PassResult[];
  /** the length of the fresh results' JSON text, in UTF-16 units or bytes where they are stored apart */
  readonly freshSize: number;
  /** the same of all results */
  readonly size: number;
  /** arrays of results that were put away together */
  readonly kept: readonly Payload[];
  /** no pass begins before then */
  readonly wakeAt?: Instant;
}

/** One pass of a loop, as long as it is under way. */
export interface Pass {
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
  readonly written: Readonly<Record<string, readonly Written[]>>;
}

export const countsOf = ({ items, next, open, failed }: LoopState): PassCounts => ({
  items,
  started: next,
  ended: next - open.length,
  failed,
});

export const sizeOf = (payload: Payload): number => ('ref' in payload ? payload.bytes : JSON.stringify(payload.value).length);
