/**
 * Streams of running nodes: text deltas beside the log. No commit depends on them; the completion has the whole text.
 * Each index of a node's stream is written once, by a conditional put. Readers check that
 * indexes are dense (`service/watching/delta-subscriptions.ts`).
 */
import type { Attempt, Nonce, NodeKey, RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Delta {
  /** 0, 1, 2 …, over all attempts of a node in one iteration */
  readonly index: number;
  /** the attempt that wrote it */
  readonly attempt: Attempt;
  /** the execution of the attempt; an attempt that is executed twice writes its text again under another owner */
  readonly owner: Nonce;
  /** the text since the previous delta; never empty */
  readonly text: string;
  readonly at: Instant;
}

/**
 * `occupied`: the index was written before, possibly by an earlier try of this put. If the outcome stays unknown, the put
 * throws `Unavailable` and the caller repeats it.
 */
export type DeltaPut = { readonly kind: 'stored' } | { readonly kind: 'occupied'; readonly owner: Nonce };

export interface Streams {
  /** Writes a delta if its index is free. `expiresAt` is the run's. */
  put(run: RunAddress, node: NodeKey, delta: Delta, expiresAt: Instant): Promise<DeltaPut>;
  /** The first `limit` deltas from `index` on, in order. Strongly consistent, but an index can be missing. */
  from(run: RunAddress, node: NodeKey, index: number, limit: number): Promise<readonly Delta[]>;
  /** The delta with the highest index. Strongly consistent. */
  last(run: RunAddress, node: NodeKey): Promise<Delta | undefined>;
}
