/** Keys of external-worker runs in the runs table. */
import { createHash } from 'node:crypto';
import { runsTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import { scopeOfNamespace } from '../engine/external/namespace.ts';
import { type ExternalRunId, parseExternalRunId } from '../engine/external/run.ts';
import { type Instant, instant } from '../engine/time.ts';
import type { ExternalRunAddress, Listing, ListingPosition, Reminder } from '../ports/external-runs.ts';
import { listedExternalState } from '../ports/run-index.ts';
import { type Item, text } from './item-schema.ts';
import { creationSort as creationSortOf, projectPartition, statePartition } from './run-keys.ts';
import type { Key } from './table.ts';

/** A namespace may be any text, so it is encoded: `#` separates the parts of a key. */
const partition = (namespaceId: string, ...parts: readonly string[]): string =>
  partitionOf('openworkflow', encodeURIComponent(namespaceId), ...parts);

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** Commit numbers have 24 bits. */
const numberDigits = 8;
const logPrefix = 'log#';
const logSort = (number: number): string => `${logPrefix}${String(number).padStart(numberDigits, '0')}`;
export const externalPartition = (run: ExternalRunAddress): string => partition(run.namespaceId, 'run', run.runId);
export const externalLogKey = (run: ExternalRunAddress, number: number): Key => ({
  pk: externalPartition(run),
  sk: logSort(number),
});
export const sortsAfter = (number: number): readonly [string, string] => [
  logSort(number + 1),
  `${logPrefix}${'9'.repeat(numberDigits)}`,
];
export const numberIn = (sort: string): number => Number(sort.slice(logPrefix.length));

/** Due runs and listings of a namespace are spread over four partitions. A poll reads all of them. */
export const externalShards = [0, 1, 2, 3] as const;
/** The first digits of a run id are random. */
const shardOf = (runId: ExternalRunId): number => Number.parseInt(runId.slice(0, 2), 16) % externalShards.length;

/** Padded, so that times sort as text. */
const paddedTime = (at: Instant): string => String(Math.max(0, at)).padStart(15, '0');
/** Sorts after all keys that begin with the time. */
export const untilSort = (at: Instant): string => `${paddedTime(at)}~`;

export const dueRunsPartition = (namespaceId: string, shard: number): string => partition(namespaceId, 'due', `${shard}`);
export const reminderKey = (namespaceId: string, { runId, at, nonce }: Pick<Reminder, 'runId' | 'at' | 'nonce'>): Key => ({
  pk: dueRunsPartition(namespaceId, shardOf(runId)),
  sk: `${paddedTime(at)}#${runId}#${nonce}`,
});

export const listPartition = (namespaceId: string, shard: number): string => partition(namespaceId, 'list', `${shard}`);
export const listSort = ({ createdAt, runId }: ListingPosition): string => `${paddedTime(createdAt)}#${runId}`;
export const listingKey = (namespaceId: string, position: ListingPosition): Key => ({
  pk: listPartition(namespaceId, shardOf(position.runId)),
  sk: listSort(position),
});

/**
 * The position of a listing by the keys of an index row; undefined if the row is no listing of the namespace. The writer of an item
 * chooses its index keys, and IAM restricts its primary key only: the primary key decides whose run it is.
 */
export function listingPositionOf(namespaceId: string, { pk, sk }: Key, creationSort: string): ListingPosition | undefined {
  const [time = '', id = ''] = sk.split('#');
  const runId = parseExternalRunId(id);
  if (runId === undefined || !/^\d{15}$/.test(time)) return undefined;
  const position = { createdAt: instant(Number(time)), runId };
  const key = listingKey(namespaceId, position);
  const isListing = key.pk === pk && key.sk === sk && creationSort === creationSortOf(position.createdAt, runId);
  return isListing ? position : undefined;
}

/** Listings of these namespaces are rows of the indexes that list runs. */
export function indexKeysOf(namespaceId: string, listing: Listing): Item {
  const scope = scopeOfNamespace(namespaceId);
  if (scope === undefined) return {};
  const { byProject, byState } = runsTableKeys;
  const [shard, state] = [shardOf(listing.runId), listedExternalState(listing)];
  const sort = text(creationSortOf(listing.createdAt, listing.runId));
  return {
    [byProject.partition]: text(projectPartition(scope, shard)),
    [byProject.sort]: sort,
    ...(state !== undefined && { [byState.partition]: text(statePartition(scope, state, shard)), [byState.sort]: sort }),
  };
}

export const keyReservationKey = (namespaceId: string, key: string): Key => ({
  pk: partition(namespaceId, 'key', digest(key)),
  sk: 'reservation',
});

/** The item that a check of permissions writes and deletes. */
export const checkKey = (namespaceId: string): Key => ({ pk: partition(namespaceId, 'check'), sk: 'check' });

export const waiterPrefix = 'waiter#';
export const signalPartition = (namespaceId: string, signal: string): string => partition(namespaceId, 'signal', digest(signal));
export const waiterKey = (namespaceId: string, signal: string, runId: ExternalRunId): Key => ({
  pk: signalPartition(namespaceId, signal),
  sk: `${waiterPrefix}${runId}`,
});
export const sendingKey = (namespaceId: string, signal: string, key: string): Key => ({
  pk: signalPartition(namespaceId, signal),
  sk: `sending#${digest(key)}`,
});
