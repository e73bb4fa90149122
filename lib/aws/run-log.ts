/** The run log in DynamoDB. */
import { type CommitNo, type RunAddress, firstCommit } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../engine/json.ts';
import type { Commit } from '../engine/log/commit.ts';
import { type Head, type HeadProjection, type RunCreation, terminalStatuses } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';
import type { Beat, LogTail, PutResult, RunLog, Snapshot } from '../ports/run-log.ts';
import { type Item, number, text } from './attributes.ts';
import { commitIn, logAttributes, nonceIn } from './commit-item.ts';
import { forgetRun, isForgottenItem } from './forget-run.ts';
import { headAttributes, headIn } from './head-item.ts';
import { projecting } from './projecting.ts';
import {
  attachmentKey,
  beatKey,
  beatSorts,
  headKey,
  lastLogSort,
  logKey,
  logSort,
  runPartition,
  snapshotKey,
} from './run-keys.ts';
import { attachmentAttributes, attachmentIn, beatAttributes, beatIn, snapshotAttributes, snapshotIn } from './side-items.ts';
import { type Put, type Table, allOf, isFree } from './table.ts';

export class DynamoRunLog implements RunLog {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async create(run: RunCreation): Promise<PutResult> {
    invariant(run.commit.number === firstCommit, 'a run is created by its first commit');
    return putResult(await this.#table.put(headKey(run.address), headAttributes(run), isFree));
  }

  async put(run: RunAddress, commit: Commit, expiresAt: Instant): Promise<PutResult> {
    invariant(commit.number > firstCommit, 'the first commit is written with the head');
    return putResult(await this.#table.put(logKey(run, commit.number), logAttributes(commit, expiresAt), isFree));
  }

  async head(run: RunAddress): Promise<Head | undefined> {
    return headOf(await this.#table.get(headKey(run)));
  }

  async heads(runs: readonly RunAddress[]): Promise<readonly (Head | undefined)[]> {
    return (await this.#table.getAll(runs.map(headKey))).map(headOf);
  }

  async nextCommits(tails: readonly LogTail[], most: number): Promise<readonly (readonly Commit[])[]> {
    const keys = tails.map(({ run, after }) => Array.from({ length: most }, (_, index) => logKey(run, after + 1 + index)));
    const items = await this.#table.getAll(keys.flat());
    return tails.map((_, index) =>
      items.slice(index * most, (index + 1) * most).flatMap((item) => (item === undefined ? [] : [commitIn(item)])),
    );
  }

  async commitsAfter(run: RunAddress, after: CommitNo, through?: CommitNo): Promise<readonly Commit[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :next AND :last',
      ExpressionAttributeValues: {
        ':pk': text(runPartition(run)),
        ':next': text(logSort(after + 1)),
        ':last': text(through === undefined ? lastLogSort : logSort(through)),
      },
    });
    return (await allOf(items)).map(commitIn);
  }

  async project(run: RunAddress, projection: HeadProjection): Promise<void> {
    await this.#table.update(headKey(run), projecting(run, projection), {
      expression: `attribute_exists(#pk) AND #asOf <= :asOf AND NOT #status IN (${terminalStatuses.map((status) => `:${status}`).join(', ')})`,
      names: { '#pk': 'pk' },
      values: Object.fromEntries(terminalStatuses.map((status) => [`:${status}`, text(status)])),
    });
  }

  async attach(run: RunAddress, name: string, value: JsonValue, expiresAt: Instant): Promise<PayloadRef> {
    await this.#table.put(attachmentKey(run, name), attachmentAttributes(value, expiresAt), isFree);
    return `item:${name}`;
  }

  async attached(run: RunAddress, name: string): Promise<JsonValue | undefined> {
    const item = await this.#table.get(attachmentKey(run, name));
    return item && attachmentIn(item);
  }

  async beat(run: RunAddress, beat: Beat, expiresAt: Instant): Promise<void> {
    await this.#table.put(beatKey(run, beat.node), beatAttributes(beat, expiresAt));
  }

  async beats(run: RunAddress): Promise<readonly Beat[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :beats)',
      ExpressionAttributeValues: { ':pk': text(runPartition(run)), ':beats': text(beatSorts) },
    });
    return (await allOf(items)).map(beatIn);
  }

  async saveSnapshot(run: RunAddress, snapshot: Snapshot, expiresAt: Instant): Promise<void> {
    const attributes = snapshotAttributes(snapshot, expiresAt);
    await this.#table.put(snapshotKey(run), attributes, {
      expression: 'attribute_not_exists(pk) OR asOf < :asOf',
      values: { ':asOf': number(snapshot.asOf) },
    });
  }

  async snapshot(run: RunAddress): Promise<Snapshot | undefined> {
    const item = await this.#table.get(snapshotKey(run));
    return item && snapshotIn(item);
  }

  forget(run: RunAddress, expiresAt: Instant): Promise<void> {
    return forgetRun(this.#table, run, expiresAt);
  }
}

const headOf = (item: Item | undefined): Head | undefined =>
  item === undefined || isForgottenItem(item) ? undefined : headIn(item);

const putResult = (put: Put): PutResult => (put.kind === 'stored' ? put : { kind: 'occupied', nonce: nonceIn(put.standing) });
