/** Tickets to watch a run, in memory. */
import type { Nonce } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Ticket, Tickets } from '../ports/tickets.ts';
import { frozenCopy } from './frozen-copy.ts';

export class MemoryTickets implements Tickets {
  readonly #tickets = new Map<string, { readonly ticket: Ticket; takenBy?: Nonce }>();

  async put(digest: string, ticket: Ticket, _retainUntil: Instant): Promise<void> {
    this.#tickets.set(digest, { ticket: frozenCopy(ticket) });
  }

  async ticket(digest: string): Promise<Ticket | undefined> {
    return this.#tickets.get(digest)?.ticket;
  }

  async redeem(digest: string, by: Nonce): Promise<boolean> {
    const entry = this.#tickets.get(digest);
    if (entry === undefined) return false;
    return (entry.takenBy ??= by) === by;
  }
}
