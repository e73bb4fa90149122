/** Concurrency slots in the control table: one partition for each workflow, one item for each taken slot and each waiting run. */
import { defined } from '../base/defined.ts';
import { runId } from '../codec/ids.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { SlotPoolKey, TakenSlot, WaitingRun } from '../engine/concurrency-slots.ts';
import type { RunId } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { ConcurrencySlots } from '../ports/coordination.ts';
import { text, type Item, anyNumber, anyInstant, stringOf, itemSchema } from './item-schema.ts';
import { scopeKey, creationSort } from './run-keys.ts';
import { type Expression, type Key, type Table, allOf, ifNotExists, firstOf, ifExists } from './table.ts';

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

export class DynamoConcurrencySlots implements ConcurrencySlots {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async taken(pool: SlotPoolKey): Promise<readonly TakenSlot[]> {
    return (await allOf(this.#itemsOf(pool, takenPrefix))).map(takenItem.decode);
  }

  async acquire(pool: SlotPoolKey, slot: number, runId: RunId, expiresAt: Instant): Promise<boolean> {
    const put = await this.#table.put(slotKey(pool, slot), takenItem.encode({ runId, slot }, expiresAt), ifNotExists);
    return put.kind === 'stored' || takenItem.decode(put.existing).runId === runId;
  }

  async extend(pool: SlotPoolKey, slot: number, runId: RunId, expiresAt: Instant): Promise<void> {
    await this.#table.replace(slotKey(pool, slot), takenItem.encode({ runId, slot }, expiresAt), belongsToRun(runId));
  }

  release(pool: SlotPoolKey, slot: number, runId: RunId): Promise<void> {
    return this.#table.delete(slotKey(pool, slot), belongsToRun(runId));
  }

  async waiting(pool: SlotPoolKey, limit: number): Promise<readonly WaitingRun[]> {
    return (await firstOf(this.#itemsOf(pool, waitingPrefix, limit), limit)).map(waitingItem.decode);
  }

  async enqueue(pool: SlotPoolKey, run: WaitingRun, expiresAt: Instant): Promise<void> {
    await this.#table.put(waitingKey(pool, run), waitingItem.encode(run, expiresAt));
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

const takenItem = itemSchema('a concurrency slot', { runId: stringOf(runId), slot: anyNumber });
const waitingItem = itemSchema('a run that waits for a slot', { runId: stringOf(runId), since: anyInstant, slots: anyNumber });
