/** Concurrency slots in the control table: one partition for each workflow, one item for each taken slot and each waiting run. */
import { defined } from '../base/defined.ts';
import * as z from 'zod';
import { runId as storedRunId } from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { RunId } from '../engine/ids.ts';
import type { SlotPoolKey, TakenSlot, WaitingRun } from '../engine/concurrency-slots.ts';
import type { Instant } from '../engine/time.ts';
import type { ConcurrencySlots } from '../ports/concurrency-slots.ts';
import { type Item, expiry, instantAttribute, number, numberAttribute, text, textAttribute } from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import { creationSort, scopeKey } from './run-keys.ts';
import { type Expression, type Key, type Table, allOf, firstOf, ifNotExists, ifExists } from './table.ts';

const partition = (pool: SlotPoolKey): string => partitionOf('slots', scopeKey(pool), pool.workflowName);

/** Four digits: a workflow has at most 1,000 slots. */
const digits = 4;
const takenPrefix = 'taken#';
const slotKey = (pool: SlotPoolKey, slot: number): Key => ({
  pk: partition(pool),
  sk: `${takenPrefix}${String(slot).padStart(digits, '0')}`,
});
const waitingPrefix = 'waits#';
/** The sort keys have the order of admission. */
const waitingKey = (pool: SlotPoolKey, { runId, since }: Pick<WaitingRun, 'runId' | 'since'>): Key => ({
  pk: partition(pool),
  sk: `${waitingPrefix}${creationSort(since, runId)}`,
});

const belongsToRun = (runId: RunId): Expression => ({ expression: 'runId = :run', values: { ':run': text(runId) } });

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
        ExpressionAttributeValues: { ':pk': text(partition(pool)), ':prefix': text(prefix) },
        Limit: limit,
      }),
    );
  }
}

const runId = textAttribute.pipe(storedRunId);
const takenItem = z.object({ v: itemVersionAttribute, runId, slot: numberAttribute });
const takenIn = (item: Item): TakenSlot => {
  const { v: _v, ...taken } = read('a concurrency slot', takenItem, item);
  return taken;
};

const waitingItem = z.object({ v: itemVersionAttribute, runId, since: instantAttribute, slots: numberAttribute });
const waitingIn = (item: Item): WaitingRun => {
  const { v: _v, ...run } = read('a run that waits for a slot', waitingItem, item);
  return run;
};
