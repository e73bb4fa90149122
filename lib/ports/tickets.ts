/**
 * Tickets to watch one run, for readers that cannot send an API key, such as an EventSource in a browser. Only the digest
 * of a ticket's text is stored. `service/watching/open-with-ticket.ts` checks the expiry.
 */
import type { KeyId, Nonce, RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Ticket {
  /** the run that it gives access to */
  readonly run: RunAddress;
  /** the API key that requested it; the ticket becomes invalid with the key */
  readonly keyId: KeyId;
  /** the time from which it is invalid */
  readonly expiresAt: Instant;
}

export interface Tickets {
  /** @param digest SHA-256 of the ticket's text, in hex */
  put(digest: string, ticket: Ticket, retainUntil: Instant): Promise<void>;
  /** Undefined if no ticket has this digest. A redeemed ticket is returned too. */
  ticket(digest: string): Promise<Ticket | undefined>;
  /** Redeems a ticket; false if it is missing or was redeemed with another nonce. Idempotent for the same nonce. */
  redeem(digest: string, by: Nonce): Promise<boolean>;
}
