/** The run log in DynamoDB. */
import { type CommitNo, type RunAddress, firstCommit, secondCommit } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../engine/json.ts';
import { type Commit, tombstoneNonce } from '../engine/log/commit.ts';
import {
  type Head,
  type HeadProjection,
  type RetentionProgress,
  type RunCreation,
  terminalStatuses,
  type Side,
  sideOfKind,
} from '../engine/log/head.ts';
import type { Heartbeat } from '../engine/log/heartbeat-timeout.ts';
import type { Instant } from '../engine/time.ts';
import type { CommitKey, PutResult, RunLog, Snapshot } from '../ports/run-log.ts';
import { deleteRunItems, extendHeadItem, extendRunItems, saveRetentionProgress } from './all-run-items.ts';
import { projectionPart, projectionUpdate } from './head-item.ts';
import { number, text } from './item-schema.ts';
import { type RunHeads, StoredHeads } from './run-heads.ts';
import { nonceIn, commitItem, secondCommitIn, attachmentItem, heartbeatItem, ifHeartbeatIs, snapshotItem } from './run-items.ts';
import {
  attachmentKey,
  heartbeatKey,
  heartbeatSorts,
  headKey,
  lastLogSort,
  logKey,
  logSort,
  projectionKey,
  runPartition,
  snapshotKey,
} from './run-keys.ts';
import { type Put, type Table, allOf, ifNotExists, partitionName } from './table.ts';

export class DynamoRunLog implements RunLog {
  readonly #table: Table;
  readonly #heads: RunHeads;

  /** @param heads default: the heads of the table */
  constructor(table: Table, heads: RunHeads = new StoredHeads(table)) {
    this.#table = table;
    this.#heads = heads;
  }

  async create(run: RunCreation, ended?: HeadProjection): Promise<PutResult> {
    invariant(run.commit.number === firstCommit, 'a run is created by its first commit');
    return putResult(await this.#heads.create(run, ended));
  }

  async put(run: RunAddress, commit: Commit, expiresAt: Instant, ended?: HeadProjection): Promise<PutResult> {
    const known = await this.#heads.load(run);
    // An end is only recorded in a head. If the head has expired, the update finds none.
    const isInHead = commit.number === secondCommit && (known?.holdsSecondCommit ?? ended !== undefined);
    invariant(isInHead || ended === undefined, `the head of ${run.runId} does not hold commit ${commit.number}`);
    return isInHead ? this.#putInHead(run, commit, ended) : this.#putCommit(run, known?.side ?? 'platform', commit, expiresAt);
  }

  async #putInHead(run: RunAddress, commit: Commit, ended: HeadProjection | undefined): Promise<PutResult> {
    const put = await this.#heads.putSecondCommit(run, commit, ended);
    if (put.kind === 'stored') return put;
    return { kind: 'occupied', nonce: secondCommitIn(put.existing)?.nonce ?? tombstoneNonce };
  }

  async prepare(run: RunAddress, commit: Commit, { expiresAt, kind }: Parameters<RunLog['prepare']>[2]): Promise<PutResult> {
    return this.#putCommit(run, sideOfKind[kind], commit, expiresAt);
  }

  async #putCommit(run: RunAddress, side: Side, commit: Commit, expiresAt: Instant): Promise<PutResult> {
    invariant(commit.number > firstCommit, 'the first commit is written with the head');
    return putResult(await this.#table.put(logKey(run, side, commit.number), commitItem.encode(commit, expiresAt), ifNotExists));
  }

  recognize(run: RunCreation): void {
    this.#heads.recognize(run);
  }

  guess(run: RunAddress, kind: RunCreation['kind']): void {
    this.#heads.guess(run, sideOfKind[kind]);
  }

  async head(run: RunAddress): Promise<Head | undefined> {
    return this.#heads.head(run);
  }

  /** The code function has a head from a message, which shows no end, and can read the projections of its runs. */
  async isFinalized(run: RunAddress): Promise<boolean> {
    const side = await this.#sideOf(run);
    const item = side === 'platform' ? undefined : await this.#table.get(projectionKey(run, side));
    const projection = item === undefined ? (await this.head(run))?.projection : projectionPart.decode(item);
    return terminalStatuses.some((status) => status === projection?.status);
  }

  async heads(runs: readonly RunAddress[]): Promise<readonly (Head | undefined)[]> {
    return this.#heads.heads(runs);
  }

  async commits(keys: readonly CommitKey[]): Promise<readonly (Commit | undefined)[]> {
    const runs = await Promise.all(keys.map(({ run }) => this.#heads.load(run)));
    const isInHead = keys.map(({ number }, index) => runs[index]?.holdsSecondCommit === true && number === secondCommit);
    const items = await this.#table.getAll(
      keys.map(({ run, number }, index) =>
        isInHead[index] === true ? headKey(run) : logKey(run, runs[index]?.side ?? 'platform', number),
      ),
    );
    return items.map((item, index) => item && (isInHead[index] === true ? secondCommitIn(item) : commitItem.decode(item)));
  }

  async commitsAfter(run: RunAddress, after: CommitNo, through?: CommitNo): Promise<readonly Commit[]> {
    const read = this.#readFromSide(run, (side) =>
      allOf(
        this.#table.query({
          ConsistentRead: true,
          KeyConditionExpression: 'pk = :pk AND sk BETWEEN :next AND :last',
          ExpressionAttributeValues: {
            ':pk': text(runPartition(run, side)),
            ':next': text(logSort(after + 1)),
            ':last': text(through === undefined ? lastLogSort : logSort(through)),
          },
        }),
      ),
    );
    const [items, second] = await Promise.all([read, after < secondCommit ? this.#secondCommitOf(run) : undefined]);
    const commits = items.map(commitItem.decode);
    return second === undefined ? commits : [second, ...commits];
  }

  /** A run whose head is unknown is read with its head in any case. */
  async #secondCommitOf(run: RunAddress): Promise<Commit | undefined> {
    return this.#heads.known(run)?.holdsSecondCommit === false ? undefined : this.#heads.secondCommit(run);
  }

  async project(run: RunAddress, projection: HeadProjection, expiresAt?: Instant): Promise<void> {
    const known = await this.#heads.load(run);
    const isNewer = `#asOf <= :asOf AND NOT #status IN (${terminalStatuses.map((status) => `:${status}`).join(', ')})`;
    const values = Object.fromEntries(terminalStatuses.map((status) => [`:${status}`, text(status)]));
    const names = partitionName;
    if (known === undefined || known.side === 'platform') {
      const condition = { expression: `attribute_exists(#pk) AND ${isNewer}`, names, values };
      await this.#table.update(headKey(run), projectionUpdate(run, projection), condition);
    } else if (known.lifetime !== undefined) {
      const condition = { expression: `attribute_not_exists(#pk) OR (${isNewer})`, names, values };
      const lifetime = { ...known.lifetime, expiresAt: expiresAt ?? known.lifetime.expiresAt };
      await this.#table.update(
        projectionKey(run, known.side),
        projectionUpdate(run, projection, { separateItem: lifetime }),
        condition,
      );
    }
  }

  async attach(
    run: RunAddress,
    name: string,
    value: JsonValue,
    { expiresAt, kind }: Parameters<RunLog['attach']>[3],
  ): Promise<PayloadRef> {
    await this.#table.put(attachmentKey(run, sideOfKind[kind], name), attachmentItem.encode({ value }, expiresAt), ifNotExists);
    return `item:${name}`;
  }

  async attached(run: RunAddress, name: string): Promise<JsonValue | undefined> {
    const item = await this.#readFromSide(run, (side) => this.#table.get(attachmentKey(run, side, name)));
    return item && attachmentItem.decode(item).value;
  }

  async heartbeat(run: RunAddress, heartbeat: Heartbeat, expiresAt: Instant): Promise<void> {
    await this.#table.put(heartbeatKey(run, await this.#sideOf(run), heartbeat.node), heartbeatItem.encode(heartbeat, expiresAt));
  }

  async replaceHeartbeat(
    run: RunAddress,
    read: Heartbeat | undefined,
    heartbeat: Heartbeat,
    expiresAt: Instant,
  ): Promise<boolean> {
    const key = heartbeatKey(run, await this.#sideOf(run), heartbeat.node);
    return this.#table.replace(key, heartbeatItem.encode(heartbeat, expiresAt), ifHeartbeatIs(read));
  }

  async heartbeats(run: RunAddress): Promise<readonly Heartbeat[]> {
    const items = await this.#readFromSide(run, (side) =>
      allOf(
        this.#table.query({
          ConsistentRead: true,
          KeyConditionExpression: 'pk = :pk AND begins_with(sk, :heartbeats)',
          ExpressionAttributeValues: { ':pk': text(runPartition(run, side)), ':heartbeats': text(heartbeatSorts) },
        }),
      ),
    );
    return items.map(heartbeatItem.decode);
  }

  async saveSnapshot(run: RunAddress, snapshot: Snapshot, expiresAt: Instant): Promise<void> {
    const attributes = snapshotItem.encode(snapshot, expiresAt);
    await this.#table.put(snapshotKey(run, await this.#sideOf(run)), attributes, {
      expression: 'attribute_not_exists(pk) OR asOf < :asOf',
      values: { ':asOf': number(snapshot.asOf) },
    });
  }

  async snapshot(run: RunAddress): Promise<Snapshot | undefined> {
    const item = await this.#readFromSide(run, (side) => this.#table.get(snapshotKey(run, side)));
    return item && snapshotItem.decode(item);
  }

  async extendItems(
    run: RunAddress,
    expiresAt: Instant,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<string | undefined> {
    return extendRunItems(this.#table, run, await this.#sideOf(run), expiresAt, page);
  }

  async saveRetentionProgress(run: RunAddress, progress: RetentionProgress): Promise<void> {
    await saveRetentionProgress(this.#table, run, progress);
  }

  async extendHead(run: RunAddress, to: Pick<Head, 'deadlineAt' | 'expiresAt'>): Promise<void> {
    await extendHeadItem(this.#table, run, to);
  }

  async deleteRun(run: RunAddress, expiresAt: Instant): Promise<void> {
    await deleteRunItems(this.#table, run, await this.#sideOf(run), expiresAt);
  }

  async #sideOf(run: RunAddress): Promise<Side> {
    return (await this.#heads.load(run))?.side ?? 'platform';
  }

  /** An unknown head is read in parallel with the side that the run is probably on, not before it. */
  async #readFromSide<Result>(run: RunAddress, read: (side: Side) => Promise<Result>): Promise<Result> {
    const known = this.#heads.known(run);
    if (known !== undefined) return read(known.side);
    const side = this.#heads.probableSide(run);
    const [result, loaded] = await Promise.all([read(side), this.#heads.load(run)]);
    return loaded === undefined || loaded.side === side ? result : read(loaded.side);
  }
}

const putResult = (put: Put): PutResult => (put.kind === 'stored' ? put : { kind: 'occupied', nonce: nonceIn(put.existing) });
