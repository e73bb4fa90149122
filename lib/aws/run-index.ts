/** The run index in DynamoDB: two keys-only indexes for listings, partitions of due minutes for the sweep. */
import * as z from 'zod';
import * as schema from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import { controlTableKeys, runsTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import { defined } from '../base/defined.ts';
import type { RunAddress, Scope } from '../engine/ids.ts';
import type { WorkerCrash } from '../engine/log/deliveries.ts';
import { type Instant, days, minutes } from '../engine/time.ts';
import {
  type DueEntry,
  type DueRun,
  type ListedState,
  type PageRequest,
  type RunIndex,
  type RunPage,
  type SharedDueEntry,
  listedExternalState,
  listedState,
} from '../ports/run-index.ts';
import type { Listing as ExternalListing } from '../ports/external-runs.ts';
import type { RunLog } from '../ports/run-log.ts';
import {
  type Item,
  expiry,
  instantAttribute,
  number,
  numberAttribute,
  present,
  text,
  textAttribute,
  itemVersion,
} from './item-schema.ts';
import {
  type Writer,
  crashKey,
  crashPartitions,
  dueNoteKey,
  dueNotePrefix,
  dueHourOf,
  duePartitions,
  dueSortsBetween,
  minuteOfDueEntry,
  dueKey,
  minuteOfDueNote,
  positionOfSort,
  positionSort,
  projectPartition,
  runOfDueEntry,
  runsOfSharedEntry,
  sharedDueKey,
  shortIdsOf,
  runOfPartition,
  runOfCrash,
  runPartition,
  shards,
  statePartition,
} from './run-keys.ts';
import { type Key, type Table, allOf, firstOf, ifNotExists, ifExists } from './table.ts';

export interface Tables {
  readonly runs: Table;
  /** has the progress of the sweep */
  readonly control: Table;
}

type ListIndex = (typeof runsTableKeys)['byProject' | 'byState'];

/** Reads the external-worker runs among the rows of an index. */
export interface ExternalRows {
  /** the listings of the rows that are runs of the scope's namespace; it drops other rows, and rows without a listing */
  listingsOf(scope: Scope, rows: readonly Row[]): Promise<readonly ExternalListing[]>;
}

export interface Row extends Key {
  /** creation time and run id as the index sorts them */
  readonly sort: string;
}

/** Retention of a due entry after its minute. The sweep may be down for this long without losing entries. */
const dueRetentionMs = days(30);
/** Retention of due entries that are recorded on their run: such runs are short. */
const recordedDueRetentionMs = days(2);
/** Decisions about crash loops look back some hours. */
const crashRetentionMs = days(2);

const sweptKey: Key = { pk: partitionOf('sweep'), sk: 'minute' };

export class DynamoRunIndex implements RunIndex {
  readonly #tables: Tables;
  readonly #log: Pick<RunLog, 'heads'>;
  readonly #side: Writer;
  readonly #externalRows: ExternalRows | undefined;

  /**
   * @param side the side of this process: the code function writes and reads the items of the code side
   * @param externalRows absent in a process that lists no external-worker runs
   */
  constructor(tables: Tables, log: Pick<RunLog, 'heads'>, side: Writer = 'platform', externalRows?: ExternalRows) {
    this.#tables = tables;
    this.#log = log;
    this.#side = side;
    this.#externalRows = externalRows;
  }

  async list(scope: Scope, options: PageRequest): Promise<RunPage> {
    return this.#page(scope, runsTableKeys.byProject, (shard) => projectPartition(scope, shard), options);
  }

  async listByState(scope: Scope, state: ListedState, options: PageRequest): Promise<RunPage> {
    const page = await this.#page(scope, runsTableKeys.byState, (shard) => statePartition(scope, state, shard), options);
    // The index is eventually consistent, the heads are not: drop runs that have another state by now.
    return defined({
      ...page,
      heads: page.heads.filter((head) => listedState(head.projection) === state),
      externalRuns: page.externalRuns?.filter((listing) => listedExternalState(listing) === state),
    });
  }

  async markDue({ run, minute, isRecordedOnRun, isSecondCheck }: DueEntry): Promise<void> {
    const attributes = {
      v: itemVersion,
      [runsTableKeys.expiry]: expiry(minutes(minute) + (isRecordedOnRun ? recordedDueRetentionMs : dueRetentionMs)),
    };
    if (isSecondCheck) {
      await this.#tables.runs.put(dueKey(run, minute, this.#side), { ...attributes, check: number(2) }, ifNotExists);
      return;
    }
    // First the record on the run: an entry without it could not be deleted with the run.
    if (isRecordedOnRun) await this.#tables.runs.put(dueNoteKey(run, minute), attributes);
    await this.#tables.runs.put(dueKey(run, minute, this.#side), attributes);
  }

  async markDueTogether({ scope, runIds, minute }: SharedDueEntry): Promise<void> {
    await this.#tables.runs.put(sharedDueKey(scope, runIds, minute, this.#side), {
      v: itemVersion,
      runs: text(shortIdsOf(runIds)),
      [runsTableKeys.expiry]: expiry(minutes(minute) + dueRetentionMs),
    });
  }

  async deleteDueEntries(run: RunAddress): Promise<void> {
    const notes = this.#tables.runs.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :notes)',
      ExpressionAttributeValues: { ':pk': text(runPartition(run)), ':notes': text(dueNotePrefix) },
    });
    for (const note of await allOf(notes)) {
      const minute = minuteOfDueNote(read('a due entry that is recorded on a run', sortOnly, note).sk);
      await this.#tables.runs.delete(dueKey(run, minute), ifExists);
      await this.#tables.runs.delete(dueNoteKey(run, minute), ifExists);
    }
  }

  async dueIn(minute: number): Promise<readonly DueRun[]> {
    const parts = duePartitions(dueHourOf(minute)).map((partition) => allOf(this.#dueEntries(partition, minute, minute)));
    return eachOnce((await Promise.all(parts)).flat().flatMap(dueRunsIn));
  }

  async firstDueMinute(first: number, last: number): Promise<number | undefined> {
    // DynamoDB refuses a range that ends before it begins.
    if (first > last) return undefined;
    for (let hour = dueHourOf(first); hour <= dueHourOf(last); hour += 1) {
      const found = await Promise.all(
        duePartitions(hour).map((partition) => firstOf(this.#dueEntries(partition, first, last, { Limit: 1 }), 1)),
      );
      const minutesFound = found.flat().map((item) => minuteOfDueEntry(read('a due entry', sortOnly, item).sk));
      if (minutesFound.length > 0) return Math.min(...minutesFound);
    }
    return undefined;
  }

  /** The entries of these minutes in a partition, in the order of their minutes. */
  #dueEntries(partition: string, first: number, last: number, options: { readonly Limit?: number } = {}) {
    const sorts = dueSortsBetween(first, last);
    return this.#tables.runs.query({
      ...options,
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: { ':pk': text(partition), ':first': text(sorts.first), ':last': text(sorts.last) },
    });
  }

  async sweptMinute(): Promise<number | undefined> {
    const item = await this.#tables.control.get(sweptKey);
    return item && read('the swept minute', sweptItem, item).swept;
  }

  async recordSweptMinute(minute: number): Promise<void> {
    await this.#tables.control.update(
      sweptKey,
      { expression: 'SET swept = :minute', values: { ':minute': number(minute) } },
      { expression: 'attribute_not_exists(#pk) OR swept < :minute', names: { '#pk': controlTableKeys.partition } },
    );
  }

  async recordCrash(run: RunAddress, crash: Omit<WorkerCrash, 'runId'>): Promise<void> {
    const { node, begunAt, lastHeartbeatAt, noticedAt } = crash;
    await this.#tables.runs.put(crashKey(run, this.#side, node, noticedAt), {
      v: itemVersion,
      n: text(node),
      b: number(begunAt),
      l: number(lastHeartbeatAt),
      a: number(noticedAt),
      [runsTableKeys.expiry]: expiry(noticedAt + crashRetentionMs),
    });
  }

  async crashesBetween(from: Instant, to: Instant): Promise<readonly WorkerCrash[]> {
    const found = await Promise.all(
      crashPartitions(from, to, this.#side).map((partition) =>
        allOf(
          this.#tables.runs.query({
            ConsistentRead: true,
            KeyConditionExpression: 'pk = :pk',
            ExpressionAttributeValues: { ':pk': text(partition) },
          }),
        ),
      ),
    );
    return found
      .flat()
      .map(crashIn)
      .filter(({ noticedAt }) => noticedAt >= from && noticedAt <= to);
  }

  /** Reads one row more than the limit, to know whether a next page exists. */
  async #rows(index: ListIndex, partition: string, { limit, after }: PageRequest): Promise<readonly Row[]> {
    const items = this.#tables.runs.query({
      IndexName: index.name,
      ScanIndexForward: false,
      Limit: limit + 1,
      KeyConditionExpression: after === undefined ? '#p = :p' : '#p = :p AND #s < :s',
      ExpressionAttributeNames: defined({ '#p': index.partition, '#s': after && index.sort }),
      ExpressionAttributeValues: present({ ':p': text(partition), ':s': after && text(positionSort(after)) }),
    });
    return (await firstOf(items, limit + 1)).map((item) => rowIn(item, index.sort));
  }

  /** The newest rows of all shards. Each shard could have the whole page. */
  async #page(scope: Scope, index: ListIndex, partitionOf: (shard: number) => string, options: PageRequest): Promise<RunPage> {
    const { limit, includesExternal } = options;
    const rows = await Promise.all(shards.map((shard) => this.#rows(index, partitionOf(shard), options)));
    const newest = rows.flat().toSorted((one, other) => (one.sort < other.sort ? 1 : -1));
    const pageRows = newest.slice(0, limit);
    // The code side and programs of a namespace may write any index partition: list a run only in its own scope, once, and if its head
    // or listing exists.
    const runs = [...new Map(pageRows.flatMap((row) => runOfRow(scope, row).map((run) => [run.runId, run] as const))).values()];
    const [heads, externalRuns = []] = await Promise.all([
      this.#log.heads(runs),
      includesExternal === true ? this.#externalRows?.listingsOf(scope, pageRows) : undefined,
    ]);
    const last = pageRows.at(-1);
    return defined({
      heads: heads.filter((head) => head !== undefined),
      externalRuns: externalRuns.length === 0 ? undefined : externalRuns,
      next: newest.length > limit && last !== undefined ? positionOfSort(last.sort) : undefined,
    });
  }
}

/** The run of a row, if it is a run of the scope. */
const runOfRow = ({ projectId, environment }: Scope, { pk }: Row): readonly RunAddress[] => {
  const run = runOfPartition(pk);
  return run?.projectId === projectId && run.environment === environment ? [run] : [];
};

const sortOnly = z.object({ sk: textAttribute });
/** `runs`: the short ids of several runs, whose scope is in the key */
const dueItem = z.object({ sk: textAttribute, check: numberAttribute.optional(), runs: textAttribute.optional() });
const dueRunsIn = (item: Item): readonly DueRun[] => {
  const { sk, check, runs } = read('a due entry', dueItem, item);
  if (runs !== undefined) return runsOfSharedEntry(sk, runs);
  return [check === undefined ? runOfDueEntry(sk) : { ...runOfDueEntry(sk), isSecondCheck: true }];
};
/** A run can have an entry of its own and be in a shared one. */
const eachOnce = (due: readonly DueRun[]): readonly DueRun[] => {
  const firstChecksLast = due.toSorted((one, other) => Number(other.isSecondCheck ?? false) - Number(one.isSecondCheck ?? false));
  return [...new Map(firstChecksLast.map((run) => [runPartition(run), run])).values()];
};
const crashItem = z.object({
  sk: textAttribute.transform(runOfCrash),
  n: textAttribute.pipe(schema.nodeKey),
  b: instantAttribute,
  l: instantAttribute,
  a: instantAttribute,
});
const crashIn = (item: Item): WorkerCrash => {
  const { sk, n, b, l, a } = read('a worker crash', crashItem, item);
  return { runId: sk.runId, node: n, begunAt: b, lastHeartbeatAt: l, noticedAt: a };
};
const sweptItem = z.object({ swept: numberAttribute });

/** DynamoDB guarantees these attributes of a row; what they contain is checked by the caller. */
const rowKeys = z.object({ pk: textAttribute, sk: textAttribute.default('') });
const rowIn = (item: Item, sortName: string): Row => ({
  ...read('a row of an index', rowKeys, item),
  sort: read('a row of an index', textAttribute, item[sortName]),
});
