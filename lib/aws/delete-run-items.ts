/** Deletes the items of a run. Tombstones of its commits and its head remain until they expire. */
import { nonce as nonceSchema } from '../codec/ids.ts';
import * as z from 'zod';
import type { RunAddress } from '../engine/ids.ts';
import { tombstoneCommit, tombstoneNonce, isTombstone } from '../engine/log/commit.ts';
import type { Instant } from '../engine/time.ts';
import { type Item, text, stringOf, named, keyPart, itemSchema, partSchema } from './item-schema.ts';
import { nonceIn, commitItem, commitSlot } from './run-items.ts';
import { type Side, headKey, isLogSort, runPartition } from './run-keys.ts';
import { type Table, ifExists } from './table.ts';

export const isTombstoneItem = (item: Item): boolean => isTombstone({ nonce: nonceIn(item) });

const sortItem = partSchema('an item of a run', { sort: keyPart('sk', z.string()) });
const tombstoneItem = itemSchema('the tombstone of a run', {
  nonce: named('n', stringOf(nonceSchema)),
  /** The side of the log. */
  kind: named('k', stringOf(z.enum(['graph', 'code']))),
});

/** @param side the side of the run's log */
export async function deleteRunItems(table: Table, run: RunAddress, side: Side, expiresAt: Instant): Promise<void> {
  const head = headKey(run);
  if (side === 'code') await deletePartition(table, runPartition(run, side), expiresAt);
  await deletePartition(table, head.pk, expiresAt, head.sk);
  // Last: while the head exists, the deletion can be repeated. The tombstone keeps the side of the log.
  const tombstone = { nonce: tombstoneNonce, kind: side === 'code' ? 'code' : 'graph' } as const;
  await table.put(head, tombstoneItem.encode(tombstone, expiresAt));
}

/** @param excludedSort the sort key of an item that is not deleted */
async function deletePartition(table: Table, partition: string, expiresAt: Instant, excludedSort?: string): Promise<void> {
  const items = table.query({
    ConsistentRead: true,
    // The last commit first: a concurrent reader finds a prefix of the real commits.
    ScanIndexForward: false,
    KeyConditionExpression: 'pk = :pk',
    ProjectionExpression: 'sk, f, a, n',
    ExpressionAttributeValues: { ':pk': text(partition) },
  });
  for await (const item of items) {
    const { sort: sk } = sortItem.decode(item);
    const key = { pk: partition, sk };
    if (isLogSort(sk)) {
      if (isTombstoneItem(item)) continue;
      await table.put(key, commitItem.encode(tombstoneCommit(commitSlot.decode(item)), expiresAt));
    } else if (sk !== excludedSort) {
      await table.delete(key, ifExists);
    }
  }
}
