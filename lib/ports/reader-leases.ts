/**
 * What bounds the streams of readers. Nobody is told that a reader has gone away, so a stream that was cut off goes on into
 * nothing until it ends by itself.
 *
 * A reader with a name has one seat at a run: whoever comes back under the same name takes it, and the stream that lost it ends.
 * Every stream, with or without a name, holds one of the installation's numbered slots, as a lease.
 */
import type { KeyId, Nonce, RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Reader {
  readonly run: RunAddress;
  /** the key that it reads with: nobody takes the seat of another key's reader */
  readonly keyId: KeyId;
  /** what it calls itself */
  readonly name: string;
}

/** A slot that a stream holds. Slots are numbered from 0. */
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
  /** Gives the seat to a stream, whoever has it. Given twice to the same is once. It may be forgotten from `retainUntil` on. */
  acquire(reader: Reader, stream: Nonce, retainUntil: Instant): Promise<void>;
  /** The stream that has the seat; undefined where nobody has. */
  holder(reader: Reader): Promise<Nonce | undefined>;
  /**
   * Takes a free slot for a stream, one of `most`. A slot is free that nobody holds, or whose lease has ended by `now`.
   * undefined: there was none.
   */
  acquireStreamSlot(lease: SlotLease): Promise<StreamSlot | undefined>;
  /** Gives the slot back. Does nothing where another stream holds it. */
  releaseStreamSlot(slot: StreamSlot): Promise<void>;
}
