/**
 * Limits the event streams of readers. The service cannot detect that a reader disconnected, so a stream continues until
 * its time limit.
 *
 * A named reader of a run has one lease: when it reconnects under its name, the new stream takes the lease and the old
 * stream ends. Every stream, named or not, also leases one of the installation's numbered stream slots.
 */
import type { KeyId, Nonce, RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Reader {
  readonly run: RunAddress;
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
