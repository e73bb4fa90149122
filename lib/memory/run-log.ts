/** The run log in memory: every call is one step. */
import { type CommitNo, type RunAddress, firstCommit } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue, PayloadRef } from '../engine/json.ts';
import type { Commit } from '../engine/log/commit.ts';
import { forgottenCommit, forgottenNonce } from '../engine/log/forgotten.ts';
import { type Head, type HeadProjection, type RunCreation, firstProjection, terminalStatuses } from '../engine/log/head.ts';
import type { Beat, LogTail, PutResult, RunLog, Snapshot } from '../ports/run-log.ts';
import { kept } from './kept.ts';
import type { MemoryRuns } from './runs.ts';

const isTerminal = (head: Head): boolean => terminalStatuses.some((status) => status === head.projection.status);

export class MemoryRunLog implements RunLog {
  readonly #runs: MemoryRuns;

  constructor(runs: MemoryRuns) {
    this.#runs = runs;
  }

  async create(run: RunCreation): Promise<PutResult> {
    invariant(run.commit.number === firstCommit, 'a run is created by its first commit');
    const record = this.#runs.record(run.address);
    if (record.isForgotten) return { kind: 'occupied', nonce: forgottenNonce };
    if (record.head !== undefined) return { kind: 'occupied', nonce: record.head.commit.nonce };
    record.head = kept({ ...run, projection: firstProjection });
    return { kind: 'stored' };
  }

  async put(run: RunAddress, commit: Commit): Promise<PutResult> {
    invariant(commit.number > firstCommit, 'the first commit is written with the head');
    const { commits } = this.#runs.record(run);
    const standing = commits.get(commit.number);
    if (standing !== undefined) return { kind: 'occupied', nonce: standing.nonce };
    commits.set(commit.number, kept(commit));
    return { kind: 'stored' };
  }

  async head(run: RunAddress): Promise<Head | undefined> {
    return this.#runs.record(run).head;
  }

  async heads(runs: readonly RunAddress[]): Promise<readonly (Head | undefined)[]> {
    return Promise.all(runs.map((run) => this.head(run)));
  }

  async nextCommits(tails: readonly LogTail[], most: number): Promise<readonly (readonly Commit[])[]> {
    return Promise.all(tails.map(({ run, after }) => this.commitsAfter(run, after, after + most)));
  }

  async commitsAfter(run: RunAddress, after: CommitNo, through: number = Infinity): Promise<readonly Commit[]> {
    const commits = [...this.#runs.record(run).commits.values()];
    const wanted = commits.filter(({ number }) => number > after && number <= through);
    return wanted.toSorted((one, other) => one.number - other.number);
  }

  async project(run: RunAddress, projection: HeadProjection): Promise<void> {
    const record = this.#runs.record(run);
    if (record.head === undefined || record.head.projection.asOf > projection.asOf || isTerminal(record.head)) return;
    record.head = kept({ ...record.head, projection });
  }

  async attach(run: RunAddress, name: string, value: JsonValue): Promise<PayloadRef> {
    const { attachments } = this.#runs.record(run);
    if (!attachments.has(name)) attachments.set(name, kept(value));
    return `item:${name}`;
  }

  async attached(run: RunAddress, name: string): Promise<JsonValue | undefined> {
    return this.#runs.record(run).attachments.get(name);
  }

  async beat(run: RunAddress, beat: Beat): Promise<void> {
    this.#runs.record(run).beats.set(beat.node, kept(beat));
  }

  async beats(run: RunAddress): Promise<readonly Beat[]> {
    return [...this.#runs.record(run).beats.values()];
  }

  async saveSnapshot(run: RunAddress, snapshot: Snapshot): Promise<void> {
    const record = this.#runs.record(run);
    if (record.snapshot !== undefined && record.snapshot.asOf >= snapshot.asOf) return;
    record.snapshot = kept(snapshot);
  }

  async snapshot(run: RunAddress): Promise<Snapshot | undefined> {
    return this.#runs.record(run).snapshot;
  }

  async forget(run: RunAddress): Promise<void> {
    const record = this.#runs.record(run);
    for (const commit of record.commits.values()) record.commits.set(commit.number, kept(forgottenCommit(commit)));
    record.attachments.clear();
    record.beats.clear();
    delete record.snapshot;
    delete record.head;
    record.isForgotten = true;
  }
}
