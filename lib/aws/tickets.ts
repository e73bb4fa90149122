/** Tickets in the control table, keyed by the digest of their text. The item has the run. */
import * as z from 'zod';
import { environment, instant, keyId, projectId, runId } from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { Nonce } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Ticket, Tickets } from '../ports/tickets.ts';
import { type Item, expiry, number, numberAttribute, text, textAttribute } from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import type { Key, Table } from './table.ts';

const ticketKey = (digest: string): Key => ({ pk: partitionOf('ticket', digest), sk: 'ticket' });

export class DynamoTickets implements Tickets {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async put(digest: string, ticket: Ticket, retainUntil: Instant): Promise<void> {
    await this.#table.put(ticketKey(digest), ticketAttributes(ticket, retainUntil));
  }

  async ticket(digest: string): Promise<Ticket | undefined> {
    const item = await this.#table.get(ticketKey(digest));
    return item && ticketIn(item);
  }

  async redeem(digest: string, by: Nonce): Promise<boolean> {
    const changed = await this.#table.update(
      ticketKey(digest),
      { expression: 'SET takenBy = :by', values: { ':by': text(by) } },
      {
        expression: 'attribute_exists(#pk) AND (attribute_not_exists(takenBy) OR takenBy = :by)',
        names: { '#pk': controlTableKeys.partition },
      },
    );
    return changed !== undefined;
  }
}

const ticketAttributes = ({ run, keyId: id, expiresAt }: Ticket, retainUntil: Instant): Item => ({
  v: itemVersion,
  projectId: text(run.projectId),
  environment: text(run.environment),
  runId: text(run.runId),
  keyId: text(id),
  expiresAt: number(expiresAt),
  [controlTableKeys.expiry]: expiry(retainUntil),
});

const ticketItem = z.object({
  v: itemVersionAttribute,
  projectId: textAttribute.pipe(projectId),
  environment: textAttribute.pipe(environment),
  runId: textAttribute.pipe(runId),
  keyId: textAttribute.pipe(keyId),
  expiresAt: numberAttribute.pipe(instant),
});

const ticketIn = (item: Item): Ticket => {
  const { keyId: id, expiresAt, v: _v, ...run } = read('a ticket', ticketItem, item);
  return { run, keyId: id, expiresAt };
};
