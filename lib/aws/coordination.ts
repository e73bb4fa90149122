/** What runs wait for, in the control table: signals and concurrency slots. */
import type { Makers } from '../base/lazy.ts';
import type { Resources } from './resources.ts';
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { defined } from '../base/defined.ts';
import { exactly } from '../codec/exact.ts';
import { attempt, instant, iterationKey, nodeId, runId, signalId } from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { SlotPoolKey, TakenSlot, WaitingRun } from '../engine/concurrency-slots.ts';
import { type SignalId, nodeKey, type RunId } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { SignalKey } from '../engine/signal-key.ts';
import type { Instant } from '../engine/time.ts';
import type {
  SignalsAtKey,
  NewSignal,
  Signals,
  Waiter,
  StoredSignal,
  ConcurrencySlots,
  CoordinationPorts,
} from '../ports/coordination.ts';
import {
  expiry,
  number,
  packed,
  text,
  itemVersion,
  type Item,
  instantAttribute,
  numberAttribute,
  packedAttribute,
  textAttribute,
  itemVersionAttribute,
} from './item-schema.ts';
import { scopeKey, creationSort } from './run-keys.ts';
import { type Expression, type Key, type Table, allOf, ifNotExists, firstOf, ifExists } from './table.ts';

/** Names and correlations are arbitrary text, so the partition is keyed by their digest. */
const signalPartition = (key: SignalKey): string => {
  const digest = createHash('sha256')
    .update(JSON.stringify([key.name, key.correlation]))
    .digest('base64url');
  return partitionOf('signal', scopeKey(key), digest);
};
const signalKey = (key: SignalKey, id: SignalId): Key => ({ pk: signalPartition(key), sk: `signal#${id}` });
/** The payload of a signal is a separate item, so that matching does not read it. */
const payloadKey = (key: SignalKey, id: SignalId): Key => ({ pk: signalPartition(key), sk: `payload#${id}` });
const nameOf = (waiter: Waiter): string => `${waiter.runId}#${nodeKey(waiter)}#${waiter.attempt}`;
const waiterKey = (key: SignalKey, waiter: Waiter): Key => ({ pk: signalPartition(key), sk: `waiter#${nameOf(waiter)}` });

const isClaimedBy = (waiter: Waiter): Expression => ({
  expression: 'claimedBy = :claimer',
  values: { ':claimer': text(nameOf(waiter)) },
});

/** Signals and their waiters in the control table: one partition for each name and correlation. */
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
          ':pk': text(signalPartition(key)),
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

const storedWaiter = exactly<Waiter>()(z.strictObject({ runId, nodeId, iteration: iterationKey, attempt, since: instant }));

export const waiterAttributes = (waiter: Waiter, retainUntil: Instant): Item => ({
  v: itemVersion,
  waiter: packed(waiter),
  [controlTableKeys.expiry]: expiry(retainUntil),
});

const waiterItem = z.object({ v: itemVersionAttribute, waiter: packedAttribute });
export const isWaiter = (item: Item): boolean => 'waiter' in item;
export const waiterIn = (item: Item): Waiter => {
  const { waiter } = read('a waiter', waiterItem, item);
  return readJson('a waiter', storedWaiter, unpack('a waiter', waiter));
};

export const signalAttributes = ({ signalId: id, receivedAt, bufferedUntil, retainUntil }: NewSignal): Item => ({
  v: itemVersion,
  signalId: text(id),
  receivedAt: number(receivedAt),
  bufferedUntil: number(bufferedUntil),
  [controlTableKeys.expiry]: expiry(retainUntil),
});

const signalItem = z.object({
  v: itemVersionAttribute,
  signalId: textAttribute.pipe(signalId),
  receivedAt: instantAttribute,
  bufferedUntil: instantAttribute,
  claimer: packedAttribute.exactOptional(),
  takenBy: textAttribute.exactOptional(),
});

export const signalIn = (item: Item): StoredSignal => {
  const { v: _v, claimer, takenBy, ...signal } = read('a signal', signalItem, item);
  if (takenBy !== undefined) return { ...signal, state: 'taken' };
  if (claimer === undefined) return { ...signal, state: 'free' };
  return {
    ...signal,
    state: 'claimed',
    by: readJson('the claimer of a signal', storedWaiter, unpack('the claimer of a signal', claimer)),
  };
};

export const payloadItem = z.object({ v: itemVersionAttribute, payload: packedAttribute });
export const deliveryItem = z.object({ delivered: numberAttribute });

const slotPartition = (pool: SlotPoolKey): string => partitionOf('slots', scopeKey(pool), pool.workflowName);

/** Four digits: a workflow has at most 1,000 slots. */
const digits = 4;
const takenPrefix = 'taken#';
const slotKey = (pool: SlotPoolKey, slot: number): Key => ({
  pk: slotPartition(pool),
  sk: `${takenPrefix}${String(slot).padStart(digits, '0')}`,
});
const waitingPrefix = 'waits#';
/** The sort keys have the order of admission. */
const waitingKey = (pool: SlotPoolKey, { runId, since }: Pick<WaitingRun, 'runId' | 'since'>): Key => ({
  pk: slotPartition(pool),
  sk: `${waitingPrefix}${creationSort(since, runId)}`,
});

const belongsToRun = (runId: RunId): Expression => ({ expression: 'runId = :run', values: { ':run': text(runId) } });

/** Concurrency slots in the control table: one partition for each workflow, one item for each taken slot and each waiting run. */
export class DynamoConcurrencySlots implements ConcurrencySlots {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async taken(pool: SlotPoolKey): Promise<readonly TakenSlot[]> {
    return (await allOf(this.#itemsOf(pool, takenPrefix))).map(takenIn);
  }

  async acquire(pool: SlotPoolKey, slot: number, runId: RunId, expiresAt: Instant): Promise<boolean> {
    const attributes = { v: itemVersion, runId: text(runId), slot: number(slot), [controlTableKeys.expiry]: expiry(expiresAt) };
    const put = await this.#table.put(slotKey(pool, slot), attributes, ifNotExists);
    return put.kind === 'stored' || takenIn(put.existing).runId === runId;
  }

  release(pool: SlotPoolKey, slot: number, runId: RunId): Promise<void> {
    return this.#table.delete(slotKey(pool, slot), belongsToRun(runId));
  }

  async waiting(pool: SlotPoolKey, limit: number): Promise<readonly WaitingRun[]> {
    return (await firstOf(this.#itemsOf(pool, waitingPrefix, limit), limit)).map(waitingIn);
  }

  async enqueue(pool: SlotPoolKey, run: WaitingRun, expiresAt: Instant): Promise<void> {
    await this.#table.put(waitingKey(pool, run), {
      v: itemVersion,
      runId: text(run.runId),
      since: number(run.since),
      slots: number(run.slots),
      [controlTableKeys.expiry]: expiry(expiresAt),
    });
  }

  dequeue(pool: SlotPoolKey, run: Pick<WaitingRun, 'runId' | 'since'>): Promise<void> {
    return this.#table.delete(waitingKey(pool, run), ifExists);
  }

  #itemsOf(pool: SlotPoolKey, prefix: string, limit?: number): AsyncGenerator<Item> {
    return this.#table.query(
      defined({
        ConsistentRead: true,
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':pk': text(slotPartition(pool)), ':prefix': text(prefix) },
        Limit: limit,
      }),
    );
  }
}

const slotRunId = textAttribute.pipe(runId);
const takenItem = z.object({ v: itemVersionAttribute, runId: slotRunId, slot: numberAttribute });
const takenIn = (item: Item): TakenSlot => {
  const { v: _v, ...taken } = read('a concurrency slot', takenItem, item);
  return taken;
};

const waitingItem = z.object({ v: itemVersionAttribute, runId: slotRunId, since: instantAttribute, slots: numberAttribute });
const waitingIn = (item: Item): WaitingRun => {
  const { v: _v, ...run } = read('a run that waits for a slot', waitingItem, item);
  return run;
};

export const coordinationPorts = (resources: Resources): Makers<CoordinationPorts> => ({
  signals: () => new DynamoSignals(resources.control),
  concurrencySlots: () => new DynamoConcurrencySlots(resources.control),
});
