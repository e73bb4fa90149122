/** The logs and listings of external-worker runs in DynamoDB, as the functions of the installation read them. */
import * as z from 'zod';
import { externalFacts, storedFacts, storedListing } from '../codec/external.ts';
import { nonce } from '../codec/ids.ts';
import { Unreadable } from '../codec/unreadable.ts';
import { type ExternalEntry, inSequence } from '../engine/external/entry.ts';
import { namespaceOf } from '../engine/external/namespace.ts';
import type { Scope } from '../engine/ids.ts';
import type { ExternalLogs, ExternalRunAddress, Listing, ListingPosition } from '../ports/external-runs.ts';
import { externalPartition, listingKey, listingPositionOf, numberIn, sortsAfter } from './external-keys.ts';
import {
  type Item,
  anyInstant,
  anyNumber,
  itemSchema,
  jsonOf,
  keyPart,
  named,
  optional,
  partSchema,
  stringOf,
  text,
} from './item-schema.ts';
import type { ExternalRows, Row } from './run-index.ts';
import { type Table, allOf } from './table.ts';

export class DynamoExternalLogs implements ExternalLogs, ExternalRows {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async entries(run: ExternalRunAddress, after: number): Promise<readonly ExternalEntry[]> {
    const [first, last] = sortsAfter(after);
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: { ':pk': text(externalPartition(run)), ':first': text(first), ':last': text(last) },
    });
    // A query is not a snapshot: entries after a gap are ignored.
    return inSequence((await allOf(items)).map(entryItem.decode), after);
  }

  async listingsOf(scope: Scope, rows: readonly Row[]): Promise<readonly Listing[]> {
    const namespaceId = namespaceOf(scope);
    const positions = rows.flatMap((row) => listingPositionOf(namespaceId, row, row.sort) ?? []);
    const items = await this.#table.getAll(positions.map((position) => listingKey(namespaceId, position)));
    return positions.flatMap((position, index) => listingAt(position, items[index]) ?? []);
  }
}

/** Attribute names are short, because every write is billed by size. */
const entryNonce = named('n', stringOf(nonce));
export const entryItem = itemSchema('a log entry of an external-worker run', {
  number: keyPart('sk', z.string().transform(numberIn)),
  facts: named('e', jsonOf(externalFacts, storedFacts)),
  at: named('a', anyInstant),
  nonce: entryNonce,
});
export const entryNonceItem = partSchema('a log entry of an external-worker run', { nonce: entryNonce });

/** An item with one value, and beside it the attributes of conditions. */
export const valueItem = <Value>(what: string, schema: z.ZodType<Value>) =>
  itemSchema(what, {
    value: named('e', jsonOf(schema)),
    asOf: optional(anyNumber),
    reservedAt: optional(anyInstant),
  });
export const listingItem = valueItem('a listing', storedListing);

/** Undefined if the item is missing, or is not the listing of its key: a program may write any item into its namespace. */
function listingAt({ createdAt, runId }: ListingPosition, item: Item | undefined): Listing | undefined {
  if (item === undefined) return undefined;
  try {
    const { value } = listingItem.decode(item);
    return value.createdAt === createdAt && value.runId === runId ? value : undefined;
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}
