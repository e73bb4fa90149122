/** Signals and their waiters in the control table: one partition for each name and correlation. */
import { createHash } from 'node:crypto';
import { unpack } from '../codec/packed.ts';
import { read } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import { type SignalId, type SignalKey, nodeKey } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { SignalsAtKey, NewSignal, Signals, Waiter } from '../ports/signals.ts';
import { expiry, number, packed, text } from './attributes.ts';
import { itemVersion } from './item-version.ts';
import { scopeKey } from './run-keys.ts';
import { deliveryItem, isWaiter, payloadItem, signalAttributes, signalIn, waiterAttributes, waiterIn } from './signal-items.ts';
import { type Expression, type Key, type Table, allOf, ifNotExists } from './table.ts';

/** Names and correlations are arbitrary text, so the partition is keyed by their digest. */
const partition = (key: SignalKey): string => {
  const digest = createHash('sha256')
    .update(JSON.stringify([key.name, key.correlation]))
    .digest('base64url');
  return partitionOf('signal', scopeKey(key), digest);
};
const signalKey = (key: SignalKey, id: SignalId): Key => ({ pk: partition(key), sk: `signal#${id}` });
/** The payload of a signal is a separate item, so that matching does not read it. */
const payloadKey = (key: SignalKey, id: SignalId): Key => ({ pk: partition(key), sk: `payload#${id}` });
const nameOf = (waiter: Waiter): string => `${waiter.runId}#${nodeKey(waiter)}#${waiter.attempt}`;
const waiterKey = (key: SignalKey, waiter: Waiter): Key => ({ pk: partition(key), sk: `waiter#${nameOf(waiter)}` });

const isClaimedBy = (waiter: Waiter): Expression => ({
  expression: 'claimedBy = :claimer',
  values: { ':claimer': text(nameOf(waiter)) },
});

export class DynamoSignals implements Signals {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async read(key: SignalKey): Promise<SignalsAtKey> {
    const items = await allOf(
      this.#table.query({
        ConsistentRead: true,
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
        ExpressionAttributeValues: {
          ':pk': text(partition(key)),
          ':first': text('signal#'),
          ':last': text('waiter#~'),
        },
      }),
    );
    // The query returns items in key order and the sort is stable, so items of one moment have a fixed order.
    return {
      waiters: items
        .filter(isWaiter)
        .map(waiterIn)
        .toSorted((one, other) => one.since - other.since),
      signals: items
        .filter((item) => !isWaiter(item))
        .map(signalIn)
        .toSorted((one, other) => one.receivedAt - other.receivedAt),
    };
  }

  async store(key: SignalKey, signal: NewSignal): Promise<void> {
    const { signalId: id, payload, retainUntil } = signal;
    // First the payload: a signal that can be claimed has its payload.
    const payloadAttributes = { v: itemVersion, payload: packed(payload), [controlTableKeys.expiry]: expiry(retainUntil) };
    await this.#table.put(payloadKey(key, id), payloadAttributes, ifNotExists);
    await this.#table.put(signalKey(key, id), signalAttributes(signal), ifNotExists);
  }

  async payload(key: SignalKey, id: SignalId): Promise<JsonValue | undefined> {
    const item = await this.#table.get(payloadKey(key, id));
    if (item === undefined) return undefined;
    return JSON.parse(unpack('the payload of a signal', read('the payload of a signal', payloadItem, item).payload)) as JsonValue;
  }

  async addWaiter(key: SignalKey, waiter: Waiter, retainUntil: Instant): Promise<void> {
    await this.#table.put(waiterKey(key, waiter), waiterAttributes(waiter, retainUntil));
  }

  async removeWaiter(key: SignalKey, waiter: Waiter): Promise<void> {
    await this.#table.delete(waiterKey(key, waiter), {
      expression: 'attribute_exists(#pk)',
      names: { '#pk': controlTableKeys.partition },
    });
  }

  async claim(key: SignalKey, id: SignalId, waiter: Waiter): Promise<boolean> {
    const changed = await this.#table.update(
      signalKey(key, id),
      {
        expression: 'SET claimedBy = :claimer, claimer = :waiter',
        values: { ':claimer': text(nameOf(waiter)), ':waiter': packed(waiter) },
      },
      {
        expression: 'attribute_exists(#pk) AND attribute_not_exists(claimedBy) AND attribute_not_exists(takenBy)',
        names: { '#pk': controlTableKeys.partition },
      },
    );
    return changed !== undefined;
  }

  async release(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void> {
    await this.#table.update(signalKey(key, id), { expression: 'REMOVE claimedBy, claimer' }, isClaimedBy(waiter));
  }

  async markTaken(key: SignalKey, id: SignalId, waiter: Waiter): Promise<void> {
    const change = { expression: 'SET takenBy = claimedBy REMOVE claimedBy, claimer' };
    await this.#table.update(signalKey(key, id), change, isClaimedBy(waiter));
  }

  async recordDelivery(key: SignalKey, id: SignalId, isDelivered: boolean): Promise<boolean> {
    const changed = await this.#table.update(
      signalKey(key, id),
      {
        expression: 'SET delivered = if_not_exists(delivered, :delivered)',
        values: { ':delivered': number(isDelivered ? 1 : 0) },
      },
      { expression: 'attribute_exists(#pk)', names: { '#pk': controlTableKeys.partition } },
    );
    invariant(changed !== undefined, `the delivery of signal ${id} is recorded, but the signal is not stored`);
    return read('the delivery of a signal', deliveryItem, changed).delivered === 1;
  }
}
