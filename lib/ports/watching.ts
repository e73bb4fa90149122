/** The ports for watching a run: output of running nodes, tickets, reader leases and stream slots. */
import type { AnyRunId } from '../engine/external/run.ts';
import type { Attempt, Nonce, NodeKey, RunAddress, KeyId, Scope } from '../engine/ids.ts';
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

/**
 * Streams of running nodes: text deltas beside the log. No commit depends on them; the completion has the whole text.
 * Each index of a node's stream is written once, by a conditional put. Readers check that
 * indexes are dense (`service/watching/delta-subscriptions.ts`).
 */
export interface Streams {
  /** Writes a delta if its index is free. `expiresAt` is the run's. */
  put(run: RunAddress, node: NodeKey, delta: Delta, expiresAt: Instant): Promise<DeltaPut>;
  /** The first `limit` deltas from `index` on, in order. Strongly consistent, but an index can be missing. */
  from(run: RunAddress, node: NodeKey, index: number, limit: number): Promise<readonly Delta[]>;
  /** The delta with the highest index. Strongly consistent. */
  last(run: RunAddress, node: NodeKey): Promise<Delta | undefined>;
}

/** A run that readers watch; also an external-worker run. */
export interface WatchedRun extends Scope {
  readonly runId: AnyRunId;
}

export interface Ticket {
  /** the run that it gives access to */
  readonly run: WatchedRun;
  /** the API key that requested it; the ticket becomes invalid with the key */
  readonly keyId: KeyId;
  /** the time from which it is invalid */
  readonly expiresAt: Instant;
}

/**
 * Tickets to watch one run, for readers that cannot send an API key, such as an EventSource in a browser. Only the digest
 * of a ticket's text is stored. `service/watching/open-with-ticket.ts` checks the expiry.
 */
export interface Tickets {
  /** @param digest SHA-256 of the ticket's text, in hex */
  put(digest: string, ticket: Ticket, retainUntil: Instant): Promise<void>;
  /** Undefined if no ticket has this digest. A redeemed ticket is returned too. */
  ticket(digest: string): Promise<Ticket | undefined>;
  /** Redeems a ticket; false if it is missing or was redeemed with another nonce. Idempotent for the same nonce. */
  redeem(digest: string, by: Nonce): Promise<boolean>;
}

export interface Reader {
  readonly run: WatchedRun;
  /** the API key that it reads with; readers of different keys have different leases */
  readonly keyId: KeyId;
  /** the name that the reader chose */
  readonly name: string;
}

/** A slot that a stream holds, numbered from 0. */
export interface StreamSlot {
  readonly number: number;
  readonly stream: Nonce;
}

export interface SlotLease {
  readonly stream: Nonce;
  readonly maxSlots: number;
  readonly now: Instant;
  readonly until: Instant;
}

/**
 * Limits the event streams of readers. The service cannot detect that a reader disconnected, so a stream continues until
 * its time limit.
 *
 * A named reader of a run has one lease: when it reconnects under its name, the new stream takes the lease and the old
 * stream ends. Every stream, named or not, also leases one of the installation's numbered stream slots.
 */
export interface ReaderLeases {
  /** Gives the lease to a stream, also if another stream holds it. Idempotent. The record may expire after `retainUntil`. */
  acquire(reader: Reader, stream: Nonce, retainUntil: Instant): Promise<void>;
  /** The stream that holds the lease, if any. */
  holder(reader: Reader): Promise<Nonce | undefined>;
  /**
   * Leases a free slot below `maxSlots` to a stream. A slot is free if no stream holds it or its lease ended by `now`.
   * undefined: no slot is free.
   */
  acquireStreamSlot(lease: SlotLease): Promise<StreamSlot | undefined>;
  /** Frees the slot. Does nothing if another stream holds it. */
  releaseStreamSlot(slot: StreamSlot): Promise<void>;
}

export interface WatchingPorts {
  readonly streams: Streams;
  readonly tickets: Tickets;
  readonly readerLeases: ReaderLeases;
}
