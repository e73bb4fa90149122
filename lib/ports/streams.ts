/**
 * What a node says while it is at work, beside the log: nobody's commit waits for it, and the completion carries the whole.
 * A delta is one slot of its node's stream, written once by one conditional put. Whoever reads checks that indexes are dense
 * (`service/read-deltas.ts`).
 */
import type { Attempt, Nonce, NodeKey, RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Delta {
  /** 0, 1, 2 … over all attempts of a node in one iteration */
  readonly index: number;
  /** the attempt that says it */
  readonly attempt: Attempt;
  /** which worker's execution of the attempt: the same attempt may be executed twice, and says everything again */
  readonly owner: Nonce;
  /** what was said since the delta before it; never empty */
  readonly text: string;
  readonly at: Instant;
}

/**
 * `occupied`: the slot was taken before, maybe by an earlier try of this very put. An outcome that stays unknown is thrown as
 * `Unavailable`, and the same put is repeated.
 */
export type DeltaPut = { readonly kind: 'stored' } | { readonly kind: 'occupied'; readonly owner: Nonce };

export interface Streams {
  /** Writes a delta on the condition that its slot is free. `expiresAt` is the run's. */
  put(run: RunAddress, node: NodeKey, delta: Delta, expiresAt: Instant): Promise<DeltaPut>;
  /** The first `limit` deltas from `index` on, in order, read strongly. May be torn: an index can be missing. */
  from(run: RunAddress, node: NodeKey, index: number, limit: number): Promise<readonly Delta[]>;
  /** The delta with the highest index, read strongly. */
  last(run: RunAddress, node: NodeKey): Promise<Delta | undefined>;
}
