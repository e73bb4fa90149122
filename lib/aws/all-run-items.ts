/**
 * All items of a run: their deletion, and the extension of their expiry. After a deletion, tombstones of the commits and of the head
 * remain until they expire. An extension updates the expiry of each item alone, so a concurrent write of other attributes is not lost,
 * and an item that was deleted is not created. (docs/decisions/long-waits.md)
 */
import { defined } from '../base/defined.ts';
import { nonce as nonceSchema } from '../codec/ids.ts';
import * as z from 'zod';
import type { RunAddress } from '../engine/ids.ts';
import { tombstoneCommit, tombstoneNonce, isTombstone } from '../engine/log/commit.ts';
import type { Head, RetentionProgress, Side } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';
import { runsTableKeys } from '../contract/environment.ts';
import {
  type Item,
  anyFlag,
  expiry,
  number,
  text,
  stringOf,
  optional,
  named,
  keyPart,
  itemSchema,
  partSchema,
} from './item-schema.ts';
import { encodeRetentionProgress, headDeadlineNames } from './head-item.ts';
import { nonceIn, commitItem, commitSlot, holdsSecondCommitName, secondCommitIn, secondCommitPart } from './run-items.ts';
import { headKey, isLogSort, runPartition } from './run-keys.ts';
import { type Table, firstOf, ifExists, partitionName } from './table.ts';

export const isTombstoneItem = (item: Item): boolean => isTombstone({ nonce: nonceIn(item) });

const sortItem = partSchema('an item of a run', { sort: keyPart('sk', z.string()) });
const tombstoneItem = itemSchema('the tombstone of a run', {
  nonce: named('n', stringOf(nonceSchema)),
  /** The side of the log. */
  kind: named('k', stringOf(z.enum(['graph', 'code', 'devkit']))),
  holdsSecondCommit: named(holdsSecondCommitName, optional(anyFlag)),
});

/** @param side the side of the run's log */
export async function deleteRunItems(table: Table, run: RunAddress, side: Side, expiresAt: Instant): Promise<void> {
  const head = headKey(run);
  if (side !== 'platform') await deletePartition(table, runPartition(run, side), expiresAt);
  await deletePartition(table, head.pk, expiresAt, head.sk);
  const item = side === 'platform' ? await table.get(head) : undefined;
  const second = item && secondCommitIn(item);
  // Last: while the head exists, the deletion can be repeated. The tombstone keeps the side of the log.
  const kind = side === 'platform' ? 'graph' : side;
  const tombstone = { nonce: tombstoneNonce, kind, holdsSecondCommit: second === undefined ? undefined : true } as const;
  await table.put(head, {
    ...tombstoneItem.encode(defined(tombstone), expiresAt),
    ...(second === undefined ? {} : secondCommitPart.encode(tombstoneCommit(second))),
  });
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

/** Updates in flight. A partition accepts 1,000 write units a second, and a commit may take hundreds. */
const maxConcurrentUpdates = 10;

const expiryName = { '#expiry': runsTableKeys.expiry };

interface Page {
  readonly after?: string;
  readonly limit: number;
}

/** The sides are read one after the other; a position names its side. The items of a code run are on both: its head is on the platform side. */
export async function extendRunItems(
  table: Table,
  run: RunAddress,
  side: Side,
  expiresAt: Instant,
  { after, limit }: Page,
): Promise<string | undefined> {
  const sides: readonly Side[] = side === 'platform' ? ['platform'] : [side, 'platform'];
  const position = after === undefined ? undefined : splitPosition(after, side);
  let room = limit;
  for (const current of sides.slice(position === undefined ? 0 : sides.indexOf(position.side))) {
    const sorts = await sortsAfter(
      table,
      runPartition(run, current),
      position?.side === current ? position.sort : undefined,
      room,
    );
    await extendItemsAt(table, run, current, sorts, expiresAt);
    const last = sorts.at(-1);
    if (last !== undefined && sorts.length === room) return `${current} ${last}`;
    room -= sorts.length;
  }
  return undefined;
}

/** @returns the side, and the sort key of its last item that was handled */
function splitPosition(position: string, side: Side): { readonly side: Side; readonly sort: string } {
  return { side: position.startsWith(`${side} `) ? side : 'platform', sort: position.slice(position.indexOf(' ') + 1) };
}

/** @param after the last sort key that was handled; undefined: from the first one */
async function sortsAfter(table: Table, partition: string, after: string | undefined, limit: number): Promise<readonly string[]> {
  const items = table.query({
    ConsistentRead: true,
    KeyConditionExpression: after === undefined ? 'pk = :pk' : 'pk = :pk AND sk > :after',
    ProjectionExpression: 'sk',
    ExpressionAttributeValues: { ':pk': text(partition), ...(after === undefined ? {} : { ':after': text(after) }) },
    Limit: limit,
  });
  return (await firstOf(items, limit)).map((item) => sortItem.decode(item).sort);
}

async function extendItemsAt(
  table: Table,
  run: RunAddress,
  side: Side,
  sorts: readonly string[],
  expiresAt: Instant,
): Promise<void> {
  const head = headKey(run);
  const keys = sorts.map((sk) => ({ pk: runPartition(run, side), sk })).filter(({ pk, sk }) => pk !== head.pk || sk !== head.sk);
  for (let first = 0; first < keys.length; first += maxConcurrentUpdates) {
    const batch = keys.slice(first, first + maxConcurrentUpdates);
    await Promise.all(batch.map((key) => extendItem(table, key, expiresAt)));
  }
}

/** Where the item exists and expires earlier. An item without an expiry stays. */
async function extendItem(table: Table, key: { readonly pk: string; readonly sk: string }, expiresAt: Instant): Promise<void> {
  await table.update(
    key,
    { expression: 'SET #expiry = :expiry', names: expiryName, values: { ':expiry': expiry(expiresAt) } },
    { expression: 'attribute_exists(#pk) AND #expiry < :expiry', names: partitionName },
  );
}

export async function saveRetentionProgress(table: Table, run: RunAddress, progress: RetentionProgress): Promise<void> {
  await table.update(
    headKey(run),
    {
      expression: 'SET #retention = :retention',
      names: { '#retention': headDeadlineNames.retention, '#expiresAt': headDeadlineNames.expiresAt },
      values: { ':retention': encodeRetentionProgress(progress), ':expiresAt': number(progress.expiresAt) },
    },
    { expression: 'attribute_exists(#pk) AND #expiresAt < :expiresAt', names: partitionName },
  );
}

/** A tombstone has no deadline, so a deleted run stays as it is. */
export async function extendHeadItem(
  table: Table,
  run: RunAddress,
  { deadlineAt, expiresAt }: Pick<Head, 'deadlineAt' | 'expiresAt'>,
): Promise<void> {
  await table.update(
    headKey(run),
    {
      expression: 'SET #expiry = :expiry, #deadlineAt = :deadlineAt, #expiresAt = :expiresAt REMOVE #retention',
      names: {
        ...expiryName,
        '#deadlineAt': headDeadlineNames.deadlineAt,
        '#expiresAt': headDeadlineNames.expiresAt,
        '#retention': headDeadlineNames.retention,
      },
      values: { ':expiry': expiry(expiresAt), ':deadlineAt': number(deadlineAt), ':expiresAt': number(expiresAt) },
    },
    { expression: 'attribute_exists(#pk) AND #expiresAt < :expiresAt', names: partitionName },
  );
}
