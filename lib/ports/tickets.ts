/**
 * Tickets to watch one run: for readers that cannot send a key, such as a browser's RunEventReader. Only the digest of a
 * ticket's text is stored. Whether one is still good is judged by `service/open-with-ticket.ts`.
 */
import type { KeyId, Nonce, RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Ticket {
  /** the one run it opens */
  readonly run: RunAddress;
  /** the key that asked for it: where that key is no good any more, neither is the ticket */
  readonly keyId: KeyId;
  /** when it opens nothing any more */
  readonly expiresAt: Instant;
}

export interface Tickets {
  /** @param digest SHA-256 of the ticket's text, in hex */
  put(digest: string, ticket: Ticket, retainUntil: Instant): Promise<void>;
  /** Undefined where there is none of that digest. One that was taken is still there. */
  ticket(digest: string): Promise<Ticket | undefined>;
  /** Takes a ticket; false where somebody else has taken it before, or there is none. Taken twice by the same one is once. */
  redeem(digest: string, by: Nonce): Promise<boolean>;
}
