/** The run log in memory. Every call is atomic. */
import { type CommitNo, type RunAddress, firstCommit } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../engine/json.ts';
import { type Commit, tombstoneCommit, tombstoneNonce } from '../engine/log/commit.ts';
import type { Heartbeat } from '../engine/log/heartbeat-timeout.ts';
import {
  type Head,
  type HeadProjection,
  type RetentionProgress,
  type RunCreation,
  firstProjection,
  isHeldByHead,
  terminalStatuses,
} from '../engine/log/head.ts';
import { type Instant, instant } from '../engine/time.ts';
import type { CommitKey, PutResult, RunLog, Snapshot } from '../ports/run-log.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { frozenCopy } from './frozen-copy.ts';
import { type MemoryRuns, itemNames } from './runs.ts';

const isTerminal = (head: Head): boolean => terminalStatuses.some((status) => status === head.projection.status);

export class MemoryRunLog implements RunLog {
  readonly #runs: MemoryRuns;

  constructor(runs: MemoryRuns) {
    this.#runs = runs;
  }

  async create(run: RunCreation, projection: HeadProjection = firstProjection): Promise<PutResult> {
    invariant(run.commit.number === firstCommit, 'a run is created by its first commit');
    const record = this.#runs.record(run.address);
    if (record.isDeleted) return { kind: 'occupied', nonce: tombstoneNonce };
    if (record.head !== undefined) return { kind: 'occupied', nonce: record.head.commit.nonce };
    record.head = frozenCopy({ ...run, projection });
    return { kind: 'stored' };
  }

  recognize(): void {}

  guess(): void {}

  async put(run: RunAddress, commit: Commit, expiresAt: Instant, ended?: HeadProjection): Promise<PutResult> {
    invariant(commit.number > firstCommit, 'the first commit is written with the head');
    const record = this.#runs.record(run);
    const { commits, expiries, head } = record;
    const isInHead = head !== undefined && isHeldByHead(head, commit);
    const existing = commits.get(commit.number);
    if (existing !== undefined) return { kind: 'occupied', nonce: existing.nonce };
    if (head === undefined && ended !== undefined) throw new Unavailable(`the head of ${run.runId}, which has expired`);
    invariant(isInHead || ended === undefined, `the head of ${run.runId} does not hold commit ${commit.number}`);
    commits.set(commit.number, frozenCopy(commit));
    if (!isInHead) expiries.set(itemNames.commit(commit.number), expiresAt);
    else if (ended !== undefined) record.head = frozenCopy({ ...head, projection: ended });
    return { kind: 'stored' };
  }

  prepare(run: RunAddress, commit: Commit, { expiresAt }: Parameters<RunLog['prepare']>[2]): Promise<PutResult> {
    return this.put(run, commit, expiresAt);
  }

  async head(run: RunAddress): Promise<Head | undefined> {
    return this.#runs.record(run).head;
  }

  async isFinalized(run: RunAddress): Promise<boolean> {
    const { head } = this.#runs.record(run);
    return head !== undefined && isTerminal(head);
  }

  async heads(runs: readonly RunAddress[]): Promise<readonly (Head | undefined)[]> {
    return Promise.all(runs.map((run) => this.head(run)));
  }

  async commits(keys: readonly CommitKey[]): Promise<readonly (Commit | undefined)[]> {
    return keys.map(({ run, number }) => this.#runs.record(run).commits.get(number));
  }

  async commitsAfter(run: RunAddress, after: CommitNo, through: number = Infinity): Promise<readonly Commit[]> {
    const commits = [...this.#runs.record(run).commits.values()];
    const wanted = commits.filter(({ number }) => number > after && number <= through);
    return wanted.toSorted((one, other) => one.number - other.number);
  }

  async project(run: RunAddress, projection: HeadProjection): Promise<void> {
    const record = this.#runs.record(run);
    if (record.head === undefined || record.head.projection.asOf > projection.asOf || isTerminal(record.head)) return;
    record.head = frozenCopy({ ...record.head, projection });
  }

  async attach(
    run: RunAddress,
    name: string,
    value: JsonValue,
    { expiresAt }: Parameters<RunLog['attach']>[3],
  ): Promise<PayloadRef> {
    const { attachments, expiries } = this.#runs.record(run);
    if (!attachments.has(name)) {
      attachments.set(name, frozenCopy(value));
      expiries.set(itemNames.attachment(name), expiresAt);
    }
    return `item:${name}`;
  }

  async attached(run: RunAddress, name: string): Promise<JsonValue | undefined> {
    return this.#runs.record(run).attachments.get(name);
  }

  async heartbeat(run: RunAddress, heartbeat: Heartbeat, expiresAt: Instant): Promise<void> {
    const { heartbeats, expiries } = this.#runs.record(run);
    heartbeats.set(heartbeat.node, frozenCopy(heartbeat));
    expiries.set(itemNames.heartbeat(heartbeat.node), expiresAt);
  }

  async replaceHeartbeat(
    run: RunAddress,
    read: Heartbeat | undefined,
    heartbeat: Heartbeat,
    expiresAt: Instant,
  ): Promise<boolean> {
    const stored = this.#runs.record(run).heartbeats.get(heartbeat.node);
    if (stored?.at !== read?.at || stored?.resends !== read?.resends) return false;
    await this.heartbeat(run, heartbeat, expiresAt);
    return true;
  }

  async heartbeats(run: RunAddress): Promise<readonly Heartbeat[]> {
    return [...this.#runs.record(run).heartbeats.values()];
  }

  async saveSnapshot(run: RunAddress, snapshot: Snapshot, expiresAt: Instant): Promise<void> {
    const record = this.#runs.record(run);
    if (record.snapshot !== undefined && record.snapshot.asOf >= snapshot.asOf) return;
    record.snapshot = frozenCopy(snapshot);
    record.expiries.set(itemNames.snapshot, expiresAt);
  }

  async snapshot(run: RunAddress): Promise<Snapshot | undefined> {
    return this.#runs.record(run).snapshot;
  }

  async extendItems(
    run: RunAddress,
    expiresAt: Instant,
    { after = '', limit }: Parameters<RunLog['extendItems']>[2],
  ): Promise<string | undefined> {
    const { expiries } = this.#runs.record(run);
    const names = [...expiries.keys()].filter((name) => name > after).toSorted();
    const page = names.slice(0, limit);
    for (const name of page) expiries.set(name, instant(Math.max(expiries.get(name) ?? expiresAt, expiresAt)));
    return names.length > limit ? page.at(-1) : undefined;
  }

  async saveRetentionProgress(run: RunAddress, retention: RetentionProgress): Promise<void> {
    const record = this.#runs.record(run);
    if (record.head === undefined || record.head.expiresAt >= retention.expiresAt) return;
    record.head = frozenCopy({ ...record.head, retention });
  }

  async extendHead(run: RunAddress, { deadlineAt, expiresAt }: Pick<Head, 'deadlineAt' | 'expiresAt'>): Promise<void> {
    const record = this.#runs.record(run);
    if (record.head === undefined || record.head.expiresAt >= expiresAt) return;
    const { retention: _done, ...head } = record.head;
    record.head = frozenCopy({ ...head, deadlineAt, expiresAt });
  }

  async deleteRun(run: RunAddress): Promise<void> {
    const record = this.#runs.record(run);
    for (const name of record.expiries.keys()) if (!name.startsWith('log#')) record.expiries.delete(name);
    for (const commit of record.commits.values()) record.commits.set(commit.number, frozenCopy(tombstoneCommit(commit)));
    record.attachments.clear();
    record.heartbeats.clear();
    delete record.snapshot;
    delete record.head;
    record.isDeleted = true;
  }
}
