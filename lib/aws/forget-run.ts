/** Takes the items of a run away. Its slots and its head stay taken until they expire, with nothing of the run in them. */
import * as z from 'zod';
import { read } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import type { RunAddress } from '../engine/ids.ts';
import { forgottenCommit, forgottenNonce, isForgotten } from '../engine/log/forgotten.ts';
import type { Instant } from '../engine/time.ts';
import { type Item, expiry, text, textAttribute } from './attributes.ts';
import { commitShape, logAttributes, nonceIn } from './commit-item.ts';
import { itemVersion } from './item-version.ts';
import { type Side, commitNumberIn, headKey, isLogSort, runPartition } from './run-keys.ts';
import * as schema from '../codec/ids.ts';
import { type Table, isThere } from './table.ts';

export const isForgottenItem = (item: Item): boolean => isForgotten({ nonce: nonceIn(item) });

const sortOnly = z.object({ sk: textAttribute });
const slot = z.object({ sk: textAttribute.transform(commitNumberIn).pipe(schema.commitNo), f: commitShape.f, a: commitShape.a });

/** @param side where its log lies */
export async function forgetRun(table: Table, run: RunAddress, side: Side, expiresAt: Instant): Promise<void> {
  const head = headKey(run);
  if (side === 'code') await forgetPart(table, runPartition(run, side), expiresAt);
  await forgetPart(table, head.pk, expiresAt, head.sk);
  // Last: as long as it stands, this can be asked for again. It still says on which side the slots are.
  const kind = text(side === 'code' ? 'code' : 'graph');
  await table.put(head, { v: itemVersion, n: text(forgottenNonce), k: kind, [runsTableKeys.expiry]: expiry(expiresAt) });
}

/** @param kept is left as it is */
async function forgetPart(table: Table, partition: string, expiresAt: Instant, kept?: string): Promise<void> {
  const items = table.query({
    ConsistentRead: true,
    // The last commit first: whoever reads meanwhile finds real commits, and then none.
    ScanIndexForward: false,
    KeyConditionExpression: 'pk = :pk',
    ProjectionExpression: 'sk, f, a, n',
    ExpressionAttributeValues: { ':pk': text(partition) },
  });
  for await (const item of items) {
    const { sk } = read('an item of a run', sortOnly, item);
    const key = { pk: partition, sk };
    if (isLogSort(sk)) {
      if (isForgottenItem(item)) continue;
      const { sk: number, f: firstEventId, a: at } = read('a commit', slot, item);
      await table.put(key, logAttributes(forgottenCommit({ number, firstEventId, at }), expiresAt));
    } else if (sk !== kept) {
      await table.delete(key, isThere);
    }
  }
}
