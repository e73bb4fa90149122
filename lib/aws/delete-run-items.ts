/** Deletes the items of a run. Tombstones of its commits and its head remain until they expire. */
import * as z from 'zod';
import { read } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import type { RunAddress } from '../engine/ids.ts';
import { tombstoneCommit, tombstoneNonce, isTombstone } from '../engine/log/tombstone.ts';
import type { Instant } from '../engine/time.ts';
import { type Item, expiry, text, textAttribute, itemVersion } from './item-schema.ts';
import { commitShape, logAttributes, nonceIn } from './run-items.ts';
import { type Side, commitNumberIn, headKey, isLogSort, runPartition } from './run-keys.ts';
import * as schema from '../codec/ids.ts';
import { type Table, ifExists } from './table.ts';

export const isTombstoneItem = (item: Item): boolean => isTombstone({ nonce: nonceIn(item) });

const sortOnly = z.object({ sk: textAttribute });
const slot = z.object({ sk: textAttribute.transform(commitNumberIn).pipe(schema.commitNo), f: commitShape.f, a: commitShape.a });

/** @param side the side of the run's log */
export async function deleteRunItems(table: Table, run: RunAddress, side: Side, expiresAt: Instant): Promise<void> {
  const head = headKey(run);
  if (side === 'code') await deletePartition(table, runPartition(run, side), expiresAt);
  await deletePartition(table, head.pk, expiresAt, head.sk);
  // Last: while the head exists, the deletion can be repeated. The tombstone keeps the side of the log.
  const kind = text(side === 'code' ? 'code' : 'graph');
  await table.put(head, { v: itemVersion, n: text(tombstoneNonce), k: kind, [runsTableKeys.expiry]: expiry(expiresAt) });
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
    const { sk } = read('an item of a run', sortOnly, item);
    const key = { pk: partition, sk };
    if (isLogSort(sk)) {
      if (isTombstoneItem(item)) continue;
      const { sk: number, f: firstEventId, a: at } = read('a commit', slot, item);
      await table.put(key, logAttributes(tombstoneCommit({ number, firstEventId, at }), expiresAt));
    } else if (sk !== excludedSort) {
      await table.delete(key, ifExists);
    }
  }
}
