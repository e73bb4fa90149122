/**
 * Keys of a run's items. Roles are granted record kinds: the code function may write only the kinds of the code side. The
 * head of each run, which has its kind and its scope, is on the platform side.
 */
import { createHash } from 'node:crypto';
import type { NodeKey, RunAddress, RunId, Scope } from '../engine/ids.ts';
import type { Side } from '../engine/log/head.ts';
import { type Instant, instant, iso } from '../engine/time.ts';
import type { ListedState, ListPosition } from '../ports/run-index.ts';
import { type RunsKind, partitionOf } from '../contract/record-kinds.ts';
import { read } from '../codec/unreadable.ts';
import { runAddress } from '../codec/jobs.ts';
import type { Key } from './table.ts';

export const scopeKey = (scope: Scope): string => `${scope.projectId}#${scope.environment}`;
/** Which process writes an entry: a function of the platform, or the one that executes deployed code. */
export type Writer = 'platform' | 'code';
const runKind = { platform: 'run', code: 'code', devkit: 'devkit' } as const satisfies Record<Side, RunsKind>;
const dueKind = { platform: 'due', code: 'due-code' } as const satisfies Record<Writer, RunsKind>;
const crashKind = { platform: 'crashes', code: 'crashes-code' } as const satisfies Record<Writer, RunsKind>;

export const runPartition = (run: RunAddress, side: Side = 'platform'): string =>
  partitionOf(runKind[side], scopeKey(run), run.runId);

export const headKey = (run: RunAddress): Key => ({ pk: runPartition(run), sk: 'head' });
/** The projection of a run whose records are beside its head. Only an extension of the deadline updates the head of such a run. */
export const projectionKey = (run: RunAddress, side: Exclude<Side, 'platform'>): Key => ({
  pk: runPartition(run, side),
  sk: 'head',
});

/** Eight digits: a run has less than 100 million commits. */
const digits = 8;
const logPrefix = 'log#';
const heartbeatPrefix = 'heartbeat#';
export const logSort = (number: number): string => `${logPrefix}${String(number).padStart(digits, '0')}`;
export const lastLogSort = `${logPrefix}${'9'.repeat(digits)}`;
export const commitNumberIn = (sort: string): number => Number(sort.slice(logPrefix.length));
export const logKey = (run: RunAddress, side: Side, number: number): Key => ({
  pk: runPartition(run, side),
  sk: logSort(number),
});

export const heartbeatSorts = heartbeatPrefix;
export const heartbeatKey = (run: RunAddress, side: Side, node: NodeKey): Key => ({
  pk: runPartition(run, side),
  sk: `${heartbeatPrefix}${node}`,
});
export const nodeIn = (sort: string): string => sort.slice(heartbeatPrefix.length);
export const attachmentKey = (run: RunAddress, side: Side, name: string): Key => ({
  pk: runPartition(run, side),
  sk: `item#${name}`,
});
export const snapshotKey = (run: RunAddress, side: Side): Key => ({ pk: runPartition(run, side), sk: 'snapshot' });

/** Deltas of a node. Another kind of stream would have another word before the colon. */
const streamPrefix = (node: NodeKey): string => `stream#node:${node}#`;
export const deltaSort = (node: NodeKey, index: number): string => `${streamPrefix(node)}${String(index).padStart(digits, '0')}`;
export const lastDeltaSort = (node: NodeKey): string => `${streamPrefix(node)}${'9'.repeat(digits)}`;
export const deltaIndexIn = (sort: string): number => Number(sort.slice(sort.lastIndexOf('#') + 1));
export const deltaKey = (run: RunAddress, node: NodeKey, index: number): Key => ({
  pk: runPartition(run),
  sk: deltaSort(node, index),
});
export const dueNotePrefix = 'due#';
/** The record of a due entry on its run. */
export const dueNoteKey = (run: RunAddress, minute: number): Key => ({ pk: runPartition(run), sk: `${dueNotePrefix}${minute}` });
export const minuteOfDueNote = (sort: string): number => Number(sort.slice(dueNotePrefix.length));
export const isLogSort = (sort: string): boolean => sort.startsWith(logPrefix);

/** Partitions that many runs write at once have eight shards: due entries of an hour, runs of a project or of a state. */
export const shards = [0, 1, 2, 3, 4, 5, 6, 7] as const;
const shardOf = (name: string): number => createHash('sha256').update(name).digest().readUInt8(0) % shards.length;

/** The hour of a due minute. Its entries share partitions, so that a sweep which is behind finds the next due minute in few queries. */
export const dueHourOf = (minute: number): number => Math.floor(minute / 60);
const writers: readonly Writer[] = ['platform', 'code'];
/** The partitions with the due entries of an hour: those of both sides. */
export const duePartitions = (hour: number): readonly string[] =>
  writers.flatMap((writer) => shards.map((shard) => duePartition(hour, shard, writer)));
const duePartition = (hour: number, shard: number, side: Writer): string => partitionOf(dueKind[side], hour, shard);
/** @param side the writer's; an entry only makes the sweep check a run */
export const dueKey = (run: RunAddress, minute: number, side: Writer = 'platform'): Key => ({
  pk: duePartition(dueHourOf(minute), shardOf(run.runId), side),
  sk: `${dueSort(minute)}#${scopeKey(run)}#${run.runId}`,
});
/** The entry of several runs, at most one for the same runs in a minute. Its attribute has the ids of the runs. */
export const sharedDueKey = (scope: Scope, runIds: readonly RunId[], minute: number, side: Writer = 'platform'): Key => {
  const digest = createHash('sha256').update(runIds.toSorted().join()).digest('hex').slice(0, sharedDigestLength);
  return {
    pk: duePartition(dueHourOf(minute), shardOf(digest), side),
    sk: `${dueSort(minute)}#${scopeKey(scope)}#${digest}`,
  };
};
/** 128 bits. */
const sharedDigestLength = 32;
/** The first and the last sort key of the entries of these minutes. */
export const dueSortsBetween = (first: number, last: number): { readonly first: string; readonly last: string } => ({
  first: `${dueSort(first)}#`,
  last: `${dueSort(last)}#~`,
});
/** Minutes of equal length sort as text. */
const dueSort = (minute: number): string => String(minute).padStart(10, '0');
/** Worker crashes are rare, so a partition covers the ten minutes in which they were noticed. */
const crashSpanMs = 600_000;
const crashPartition = (span: number, side: Writer): string => partitionOf(crashKind[side], span);
const crashSpan = (moment: Instant): number => Math.floor(moment / crashSpanMs);
export const crashPartitions = (from: Instant, to: Instant, side: Writer): readonly string[] =>
  Array.from({ length: Math.max(0, crashSpan(to) - crashSpan(from) + 1) }, (_, index) =>
    crashPartition(crashSpan(from) + index, side),
  );
export const crashKey = (run: RunAddress, side: Writer, node: NodeKey, noticedAt: Instant): Key => ({
  pk: crashPartition(crashSpan(noticedAt), side),
  sk: `${scopeKey(run)}#${run.runId}#${noticedAt}#${node}`,
});
/** The run in the sort key of a crash. */
export const runOfCrash = (sort: string): RunAddress => addressOf(sort.split('#'));

/** The run in the sort key of a due entry. */
export const runOfDueEntry = (sort: string): RunAddress => addressOf(sort.split('#').slice(1));
/** The runs of a shared entry, whose ids are an attribute. */
export const runsOfSharedEntry = (sort: string, shortIds: string): readonly RunAddress[] => {
  const [, projectId = '', environment = ''] = sort.split('#');
  return shortIds.split(' ').map((shortId) => addressOf([projectId, environment, `${runIdPrefix}${shortId}`]));
};
/** Without what all ids have in common: 26 characters for each run. */
export const shortIdsOf = (runIds: readonly RunId[]): string => runIds.map((runId) => runId.slice(runIdPrefix.length)).join(' ');
const runIdPrefix = 'wrun_';
export const minuteOfDueEntry = (sort: string): number => Number(sort.slice(0, sort.indexOf('#')));
/** The run in the partition key of its items. */
export const runIn = (partition: string): RunAddress => addressOf(partition.split('#').slice(1));

/** The run whose head or projection has the partition key; undefined for other items. */
export const runOfPartition = (partition: string): RunAddress | undefined => {
  const [kind, project, name, id, ...rest] = partition.split('#');
  if (!Object.values(runKind).some((one) => one === kind) || rest.length > 0) return undefined;
  return runAddress.safeParse({ projectId: project, environment: name, runId: id }).data;
};

const addressOf = ([projectId, environment, runId]: readonly string[]): RunAddress =>
  read('the key of a run', runAddress, { projectId, environment, runId });

export const projectPartition = (scope: Scope, shard: number): string => `${scopeKey(scope)}#${shard}`;
export const projectPartitionOf = (run: RunAddress): string => projectPartition(run, shardOf(run.runId));
export const statePartition = (scope: Scope, state: ListedState, shard: number): string => `${scopeKey(scope)}#${state}#${shard}`;
export const statePartitionOf = (run: RunAddress, state: ListedState): string => statePartition(run, state, shardOf(run.runId));

/** ISO times of the years 0 to 9999 sort as text. */
export const creationSort = (createdAt: Instant, runId: string): string => `${iso(createdAt)}#${runId}`;
export const positionSort = (position: ListPosition): string => creationSort(position.createdAt, position.runId);
/**
 * The cursor for a sort key of an index. A forged sort key can be any text: its cursor is the next position in the order of the list.
 * Undefined if no position follows.
 */
export const positionOfSort = (sort: string): ListPosition | undefined => {
  const [time = '', runId = ''] = sort.split('#');
  const parsed = Date.parse(time);
  if (!Number.isNaN(parsed) && iso(instant(parsed)) === time && sort.startsWith(`${time}#`))
    return { createdAt: instant(parsed), runId };
  const next = { createdAt: latestBefore(sort), runId: lastRunId };
  return positionSort(next) < sort ? next : undefined;
};

/** Sorts after every run id. */
const lastRunId = '~';
/** The last millisecond of the year 9999. */
const lastTime = 253_402_300_799_999;

/** The latest time all of whose positions sort before the text; 1970 if there is none. */
function latestBefore(sort: string): Instant {
  let [low, high] = [0, lastTime];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (creationSort(instant(middle), lastRunId) < sort) low = middle;
    else high = middle - 1;
  }
  return instant(low);
}
