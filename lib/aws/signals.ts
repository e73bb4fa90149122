/** Signals and their waiters in the control table: one partition for each name and correlation. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { jsonValue } from '../codec/events.ts';
import { exactly } from '../codec/exact.ts';
import { attempt, commitNo, instant, iterationKey, nodeId, runId, signalId } from '../codec/ids.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import { type RunId, type SignalId, type SignalKey, nodeKey } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import {
  type RegisteredWaiter,
  type SignalsAtKey,
  type NewSignal,
  type Signals,
  type Waiter,
  type StoredSignal,
  fewSignals,
  isBesideSignal,
} from '../ports/coordination.ts';
import {
  packed,
  text,
  type Item,
  anyString,
  anyInstant,
  anyFlag,
  stringOf,
  jsonOf,
  optional,
  itemSchema,
  partSchema,
  number,
  numberOf,
  expiry,
} from './item-schema.ts';
import { scopeKey } from './run-keys.ts';
import { type Expression, type Key, type Table, allOf, ifNotExists, ifExists, partitionName } from './table.ts';

/** Names and correlations are arbitrary text, so the partition is keyed by their digest. */
const signalPartition = (key: SignalKey): string => {
  const digest = createHash('sha256')
    .update(JSON.stringify([key.name, key.correlation]))
    .digest('base64url');
  return partitionOf('signal', scopeKey(key), digest);
};
const signalKey = (key: SignalKey, id: SignalId): Key => ({ pk: signalPartition(key), sk: `signal#${id}` });
/** A large payload is a separate item, so that matching does not read it. */
const payloadKey = (key: SignalKey, id: SignalId): Key => ({ pk: signalPartition(key), sk: `payload#${id}` });
const nameOf = (waiter: Waiter): string => `${waiter.runId}#${nodeKey(waiter)}#${waiter.attempt}`;
/** The run in the name of a waiter. */
const runOf = (name: string): RunId => runId.parse(name.slice(0, name.indexOf('#')));
const waiterKey = (key: SignalKey, waiter: Waiter): Key => ({ pk: signalPartition(key), sk: `waiter#${nameOf(waiter)}` });

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
    return inOrder(await allOf(this.#query(key)));
  }

  async readIfFew(key: SignalKey): Promise<SignalsAtKey | undefined> {
    const items: Item[] = [];
    for await (const item of this.#query(key, fewSignals + 1)) {
      if (items.length === fewSignals) return undefined;
      items.push(item);
    }
    return inOrder(items);
  }

  /** @param pageItems a page has at most so many */
  #query(key: SignalKey, pageItems?: number): AsyncGenerator<Item> {
    return this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: {
        ':pk': text(signalPartition(key)),
        ':first': text('signal#'),
        ':last': text('waiter#~'),
      },
      Limit: pageItems,
    });
  }

  async store(key: SignalKey, signal: NewSignal): Promise<void> {
    const { signalId: id, retainUntil } = signal;
    await this.#storePayload(key, signal);
    await this.#putOrRetain(signalKey(key, id), signalItem.encode(storedParts(signal), retainUntil), retainUntil);
  }

  async storeClaimed(key: SignalKey, signal: NewSignal, waiter: Waiter): Promise<boolean> {
    await this.#storePayload(key, signal);
    const attributes = signalItem.encode({ ...storedParts(signal), claimer: waiter }, signal.retainUntil);
    const claimed = { ...attributes, claimedBy: text(nameOf(waiter)) };
    const put = await this.#table.put(signalKey(key, signal.signalId), claimed, ifNotExists);
    return put.kind === 'stored';
  }

  /** Before the signal: one that can be claimed has its payload. */
  async #storePayload(key: SignalKey, { signalId: id, payload, retainUntil }: NewSignal): Promise<void> {
    if (isBesideSignal(payload)) return;
    await this.#putOrRetain(payloadKey(key, id), payloadItem.encode({ payload }, retainUntil), retainUntil);
  }

  async #putOrRetain(item: Key, attributes: Item, retainUntil: Instant): Promise<void> {
    const put = await this.#table.put(item, attributes, ifNotExists);
    if (put.kind === 'stored') return;
    const names = { '#expiry': controlTableKeys.expiry };
    const change = { expression: 'SET #expiry = :expiry', names, values: { ':expiry': expiry(retainUntil) } };
    await this.#table.update(item, change, { expression: 'attribute_exists(#pk) AND #expiry < :expiry', names: partitionName });
  }

  async payload(key: SignalKey, id: SignalId): Promise<JsonValue | undefined> {
    const item = await this.#table.get(payloadKey(key, id));
    return item && payloadItem.decode(item).payload;
  }

  async addWaiter(key: SignalKey, { beganIn, ...waiter }: RegisteredWaiter, retainUntil: Instant): Promise<void> {
    await this.#table.put(
      waiterKey(key, waiter),
      waiterItem.encode(beganIn === undefined ? { waiter } : { waiter, beganIn }, retainUntil),
    );
  }

  async removeWaiter(key: SignalKey, waiter: Waiter): Promise<void> {
    await this.#table.delete(waiterKey(key, waiter), ifExists);
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
        names: partitionName,
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
      ifExists,
    );
    invariant(changed !== undefined, `the delivery of signal ${id} is recorded, but the signal is not stored`);
    return deliveryItem.decode(changed).delivered;
  }
}

/** In the order of arrival. */
function inOrder(items: readonly Item[]): SignalsAtKey {
  // The query returns items in key order and the sort is stable, so items of one moment have a fixed order.
  return {
    waiters: items
      .filter(isWaiter)
      .map(registeredIn)
      .toSorted((one, other) => one.since - other.since),
    signals: items
      .filter((item) => !isWaiter(item))
      .map(signalIn)
      .toSorted((one, other) => one.receivedAt - other.receivedAt),
  };
}

const storedWaiter = exactly<Waiter>()(z.strictObject({ runId, nodeId, iteration: iterationKey, attempt, since: instant }));

const isWaiter = (item: Item): boolean => 'waiter' in item;
/** The commit is an attribute of its own, because a version that does not know it refuses other fields of a waiter. */
const waiterItem = itemSchema('a waiter', { waiter: jsonOf(storedWaiter), beganIn: optional(numberOf(commitNo)) });

const registeredIn = (item: Item): RegisteredWaiter => {
  const { waiter, beganIn } = waiterItem.decode(item);
  return beganIn === undefined ? waiter : { ...waiter, beganIn };
};

const signalItem = itemSchema('a signal', {
  signalId: stringOf(signalId),
  receivedAt: anyInstant,
  bufferedUntil: anyInstant,
  claimer: optional(jsonOf(storedWaiter)),
  takenBy: optional(anyString),
  payload: optional(jsonOf(jsonValue)),
});
const storedParts = ({ payload, retainUntil: _retainUntil, ...signal }: NewSignal) =>
  isBesideSignal(payload) ? { ...signal, payload } : signal;
const payloadItem = itemSchema('the payload of a signal', { payload: jsonOf(jsonValue) });
const deliveryItem = partSchema('the delivery of a signal', { delivered: anyFlag });

const signalIn = (item: Item): StoredSignal => {
  const { claimer, takenBy, ...signal } = signalItem.decode(item);
  if (takenBy !== undefined) return { ...signal, state: 'taken', by: runOf(takenBy) };
  return claimer === undefined ? { ...signal, state: 'free' } : { ...signal, state: 'claimed', by: claimer };
};
