/** External-worker runs in DynamoDB. */
import * as z from 'zod';
import { storedKeyReservation, storedReminder, storedSending } from '../codec/external.ts';
import { externalRunId } from '../codec/ids.ts';
import type { ExternalEntry } from '../engine/external/entry.ts';
import { type Instant, after as later, minutes } from '../engine/time.ts';
import type {
  KeyReservationResult,
  KeyReservation,
  Listing,
  ListingPage,
  ExternalRunAddress,
  ExternalRuns,
  Reminder,
  Sending,
  SignalWaiter,
} from '../ports/external-runs.ts';
import {
  checkKey,
  dueRunsPartition,
  indexKeysOf,
  keyReservationKey,
  listPartition,
  listSort,
  listingKey,
  externalLogKey,
  externalShards,
  reminderKey,
  sendingKey,
  signalPartition,
  untilSort,
  waiterKey,
  waiterPrefix,
} from './external-keys.ts';
import { DynamoExternalLogs, entryItem, entryNonceItem, listingItem, valueItem } from './external-logs.ts';
import { anyNumber, itemSchema, keyPart, number, packed, text } from './item-schema.ts';
import { type Table, allOf, firstOf, ifNotExists, ifExists } from './table.ts';

export class DynamoExternalRuns implements ExternalRuns {
  readonly #table: Table;
  readonly #logs: DynamoExternalLogs;

  constructor(table: Table) {
    this.#table = table;
    this.#logs = new DynamoExternalLogs(table);
  }

  /** Checks permissions: performs each operation of this store once, on a separate item. @throws the error of DynamoDB */
  async check(namespaceId: string, now: Instant): Promise<void> {
    const key = checkKey(namespaceId);
    await allOf(
      this.#table.query({
        ConsistentRead: true,
        KeyConditionExpression: 'pk = :pk AND sk = :sk',
        ExpressionAttributeValues: { ':pk': text(key.pk), ':sk': text(key.sk) },
      }),
    );
    await this.#table.put(key, checkItem.encode({ value: null }, later(now, minutes(10))));
    await this.#table.get(key);
    await this.#table.update(key, { expression: 'SET checkedAt = :now', values: { ':now': number(now) } }, ifExists);
    await this.#table.delete(key, ifExists);
  }

  entries(run: ExternalRunAddress, after: number): Promise<readonly ExternalEntry[]> {
    return this.#logs.entries(run, after);
  }

  async append(run: ExternalRunAddress, entry: ExternalEntry, retainUntil: Instant): Promise<'written' | 'taken'> {
    const put = await this.#table.put(externalLogKey(run, entry.number), entryItem.encode(entry, retainUntil), ifNotExists);
    return put.kind === 'stored' || entryNonceItem.decode(put.existing).nonce === entry.nonce ? 'written' : 'taken';
  }

  async addReminder(namespaceId: string, reminder: Reminder, retainUntil: Instant): Promise<void> {
    await this.#table.put(reminderKey(namespaceId, reminder), reminderItem.encode({ value: reminder }, retainUntil));
  }

  async reminders(namespaceId: string, until: Instant, limit: number): Promise<readonly Reminder[]> {
    const found = await Promise.all(
      externalShards.map((shard) =>
        firstOf(
          this.#table.query({
            ConsistentRead: true,
            KeyConditionExpression: 'pk = :pk AND sk < :until',
            ExpressionAttributeValues: { ':pk': text(dueRunsPartition(namespaceId, shard)), ':until': text(untilSort(until)) },
            Limit: limit,
          }),
          limit,
        ),
      ),
    );
    return found.flat().map((item) => reminderItem.decode(item).value);
  }

  async deleteReminder(namespaceId: string, reminder: Pick<Reminder, 'runId' | 'at' | 'nonce'>): Promise<void> {
    await this.#table.delete(reminderKey(namespaceId, reminder), ifExists);
  }

  async putListing(namespaceId: string, listing: Listing, retainUntil: Instant): Promise<void> {
    const { asOf } = listing;
    const attributes = { ...listingItem.encode({ value: listing, asOf }, retainUntil), ...indexKeysOf(namespaceId, listing) };
    await this.#table.put(listingKey(namespaceId, listing), attributes, {
      expression: 'attribute_not_exists(pk) OR asOf < :asOf',
      values: { ':asOf': number(asOf) },
    });
  }

  async listings(namespaceId: string, { from, order, limit }: ListingPage): Promise<readonly Listing[]> {
    const isNewestFirst = order === 'newest first';
    const bound = from === undefined ? undefined : { ':from': text(listSort(from)) };
    const found = await Promise.all(
      externalShards.map((shard) =>
        firstOf(
          this.#table.query({
            ConsistentRead: true,
            KeyConditionExpression: `pk = :pk${bound === undefined ? '' : ` AND sk ${isNewestFirst ? '<' : '>'} :from`}`,
            ExpressionAttributeValues: { ':pk': text(listPartition(namespaceId, shard)), ...bound },
            ScanIndexForward: !isNewestFirst,
            Limit: limit,
          }),
          limit,
        ),
      ),
    );
    const sign = isNewestFirst ? -1 : 1;
    return found
      .flat()
      .map((item) => listingItem.decode(item).value)
      .toSorted((one, other) => sign * (listSort(one) < listSort(other) ? -1 : 1))
      .slice(0, limit);
  }

  async reserveKey(
    namespaceId: string,
    key: string,
    reservation: KeyReservation,
    notBefore: Instant,
    retainUntil: Instant,
  ): Promise<KeyReservationResult> {
    const attributes = keyReservationItem.encode({ value: reservation, reservedAt: reservation.at }, retainUntil);
    const put = await this.#table.put(keyReservationKey(namespaceId, key), attributes, {
      expression: 'attribute_not_exists(pk) OR reservedAt < :notBefore',
      values: { ':notBefore': number(notBefore) },
    });
    return put.kind === 'stored' ? { kind: 'reserved' } : { kind: 'taken', by: keyReservationItem.decode(put.existing).value };
  }

  async addWaiter(namespaceId: string, signal: string, waiter: SignalWaiter, retainUntil: Instant): Promise<void> {
    await this.#table.put(waiterKey(namespaceId, signal, waiter.runId), waiterItem.encode(waiter, retainUntil), {
      expression: 'attribute_not_exists(pk) OR since < :since',
      values: { ':since': number(waiter.since) },
    });
  }

  async waiters(namespaceId: string, signal: string): Promise<readonly SignalWaiter[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :waiter)',
      ExpressionAttributeValues: { ':pk': text(signalPartition(namespaceId, signal)), ':waiter': text(waiterPrefix) },
    });
    return (await allOf(items)).map(waiterItem.decode);
  }

  async deleteWaiter(namespaceId: string, signal: string, { runId, since }: SignalWaiter): Promise<void> {
    const isThis = { expression: 'since = :since', values: { ':since': number(since) } };
    await this.#table.delete(waiterKey(namespaceId, signal, runId), isThis);
  }

  async sending(namespaceId: string, signal: string, key: string): Promise<Sending | undefined> {
    const item = await this.#table.get(sendingKey(namespaceId, signal, key));
    return item && sendingItem.decode(item).value;
  }

  async beginSending(namespaceId: string, signal: string, key: string, sending: Sending, retainUntil: Instant): Promise<Sending> {
    const put = await this.#table.put(
      sendingKey(namespaceId, signal, key),
      sendingItem.encode({ value: sending }, retainUntil),
      ifNotExists,
    );
    return put.kind === 'stored' ? sending : sendingItem.decode(put.existing).value;
  }

  async endSending(namespaceId: string, signal: string, key: string, reached: NonNullable<Sending['reached']>): Promise<void> {
    const ended: Sending = { data: null, targets: [], reached };
    const change = { expression: 'SET e = :value', values: { ':value': packed(ended) } };
    await this.#table.update(sendingKey(namespaceId, signal, key), change, ifExists);
  }

  async deleteSending(namespaceId: string, signal: string, key: string): Promise<void> {
    await this.#table.delete(sendingKey(namespaceId, signal, key), ifExists);
  }
}

const checkItem = valueItem('a check of permissions', z.null());
const reminderItem = valueItem('a reminder', storedReminder);
const keyReservationItem = valueItem('a reservation of an idempotency key', storedKeyReservation);
const sendingItem = valueItem('the sending of a signal', storedSending);

const waiterItem = itemSchema('a run that waits for a signal', {
  runId: keyPart(
    'sk',
    z
      .string()
      .transform((sort) => sort.slice(waiterPrefix.length))
      .pipe(externalRunId),
  ),
  since: anyNumber,
});
