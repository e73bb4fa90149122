/** Runs that another library's workers poll for, in DynamoDB. */
import { storedHolder, storedListing, storedReminder, storedSending } from '../codec/polled.ts';
import { type PolledEntry, inSequence } from '../engine/polled/entry.ts';
import { type Instant, after as later, minutes } from '../engine/time.ts';
import type {
  Holding,
  KeyHolder,
  Listing,
  ListingPage,
  PolledAddress,
  PolledRuns,
  Reminder,
  Sending,
  SignalWaiter,
} from '../ports/polled-runs.ts';
import { type Item, number, packed, text } from './attributes.ts';
import { entryAttributes, entryIn, entryNonceIn, valueAttributes, valueIn, waiterAttributes, waiterIn } from './polled-items.ts';
import {
  checkKey,
  dueRunsPartition,
  holderKey,
  listPartition,
  listSort,
  listingKey,
  polledLogKey,
  polledPartition,
  polledShards,
  reminderKey,
  sendingKey,
  signalPartition,
  sortsAfter,
  untilSort,
  waiterKey,
  waiterPrefix,
} from './polled-keys.ts';
import { type Table, allOf, firstOf, isFree, isThere } from './table.ts';

export class DynamoPolledRuns implements PolledRuns {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Does each operation that this store uses once, on an item of its own. @throws what the table refuses */
  async check(namespaceId: string, now: Instant): Promise<void> {
    const key = checkKey(namespaceId);
    await allOf(
      this.#table.query({
        ConsistentRead: true,
        KeyConditionExpression: 'pk = :pk AND sk = :sk',
        ExpressionAttributeValues: { ':pk': text(key.pk), ':sk': text(key.sk) },
      }),
    );
    await this.#table.put(key, valueAttributes(null, later(now, minutes(10))));
    await this.#table.get(key);
    await this.#table.update(key, { expression: 'SET checkedAt = :now', values: { ':now': number(now) } }, isThere);
    await this.#table.delete(key, isThere);
  }

  async entries(run: PolledAddress, after: number): Promise<readonly PolledEntry[]> {
    const [first, last] = sortsAfter(after);
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: { ':pk': text(polledPartition(run)), ':first': text(first), ':last': text(last) },
    });
    // A query is no snapshot: behind a gap nothing is known yet.
    return inSequence((await allOf(items)).map(entryIn), after);
  }

  async append(run: PolledAddress, entry: PolledEntry, forgetAt: Instant): Promise<'written' | 'taken'> {
    const put = await this.#table.put(polledLogKey(run, entry.number), entryAttributes(entry, forgetAt), isFree);
    return put.kind === 'stored' || entryNonceIn(put.standing) === entry.nonce ? 'written' : 'taken';
  }

  async remind(namespaceId: string, reminder: Reminder, forgetAt: Instant): Promise<void> {
    await this.#table.put(reminderKey(namespaceId, reminder), valueAttributes(reminder, forgetAt));
  }

  async reminders(namespaceId: string, until: Instant, limit: number): Promise<readonly Reminder[]> {
    const found = await Promise.all(
      polledShards.map((shard) =>
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
    return found.flat().map((item) => valueIn('a reminder', storedReminder, item));
  }

  async dropReminder(namespaceId: string, reminder: Pick<Reminder, 'runId' | 'at' | 'nonce'>): Promise<void> {
    await this.#table.delete(reminderKey(namespaceId, reminder), isThere);
  }

  async enlist(namespaceId: string, listing: Listing, forgetAt: Instant): Promise<void> {
    const asOf = number(listing.asOf);
    await this.#table.put(listingKey(namespaceId, listing), valueAttributes(listing, forgetAt, { asOf }), {
      expression: 'attribute_not_exists(pk) OR asOf < :asOf',
      values: { ':asOf': asOf },
    });
  }

  async listings(namespaceId: string, { from, order, limit }: ListingPage): Promise<readonly Listing[]> {
    const isNewestFirst = order === 'newest first';
    const bound = from === undefined ? undefined : { ':from': text(listSort(from)) };
    const found = await Promise.all(
      polledShards.map((shard) =>
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
      .map((item) => valueIn('a listing', storedListing, item))
      .toSorted((one, other) => sign * (listSort(one) < listSort(other) ? -1 : 1))
      .slice(0, limit);
  }

  async hold(namespaceId: string, key: string, holder: KeyHolder, notBefore: Instant, forgetAt: Instant): Promise<Holding> {
    const attributes = valueAttributes(holder, forgetAt, { heldAt: number(holder.at) });
    const put = await this.#table.put(holderKey(namespaceId, key), attributes, {
      expression: 'attribute_not_exists(pk) OR heldAt < :notBefore',
      values: { ':notBefore': number(notBefore) },
    });
    return put.kind === 'stored'
      ? { kind: 'held' }
      : { kind: 'taken', by: valueIn('whose a key is', storedHolder, put.standing) };
  }

  async await(namespaceId: string, signal: string, waiter: SignalWaiter, forgetAt: Instant): Promise<void> {
    await this.#table.put(waiterKey(namespaceId, signal, waiter.runId), waiterAttributes(waiter, forgetAt), {
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
    return (await allOf(items)).map(waiterIn);
  }

  async dropWaiter(namespaceId: string, signal: string, { runId, since }: SignalWaiter): Promise<void> {
    const isThis = { expression: 'since = :since', values: { ':since': number(since) } };
    await this.#table.delete(waiterKey(namespaceId, signal, runId), isThis);
  }

  async sending(namespaceId: string, signal: string, key: string): Promise<Sending | undefined> {
    const item = await this.#table.get(sendingKey(namespaceId, signal, key));
    return item && sendingIn(item);
  }

  async beginSending(namespaceId: string, signal: string, key: string, sending: Sending, forgetAt: Instant): Promise<Sending> {
    const put = await this.#table.put(sendingKey(namespaceId, signal, key), valueAttributes(sending, forgetAt), isFree);
    return put.kind === 'stored' ? sending : sendingIn(put.standing);
  }

  async endSending(namespaceId: string, signal: string, key: string, reached: NonNullable<Sending['reached']>): Promise<void> {
    const ended: Sending = { data: null, targets: [], reached };
    const change = { expression: 'SET e = :value', values: { ':value': packed(ended) } };
    await this.#table.update(sendingKey(namespaceId, signal, key), change, isThere);
  }

  async dropSending(namespaceId: string, signal: string, key: string): Promise<void> {
    await this.#table.delete(sendingKey(namespaceId, signal, key), isThere);
  }
}

const sendingIn = (item: Item): Sending => valueIn('a signal that is sent', storedSending, item);
