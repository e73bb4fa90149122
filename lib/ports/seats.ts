/**
 * The one place that a reader with a name has at a run. Nobody is told that a reader has gone away, so a stream that was cut off
 * goes on into nothing: whoever comes back under the same name takes its seat, and the stream that lost it ends.
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

export interface Seats {
  /** Gives the seat to a stream, whoever has it. Given twice to the same is once. It may be forgotten from `forgetAt` on. */
  give(reader: Reader, stream: Nonce, forgetAt: Instant): Promise<void>;
  /** The stream that has the seat; undefined where nobody has. */
  holder(reader: Reader): Promise<Nonce | undefined>;
}
