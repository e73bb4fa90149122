/**
 * The run log: one item per commit, written once by a conditional put, with strongly consistent reads.
 * Adapters contain no rules: `service/run-log/read-windows.ts` checks that commit numbers are dense.
 */
import type { CommitNo, Nonce, RunAddress } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { Head, HeadProjection, RetentionProgress, RunCreation } from '../engine/log/head.ts';
import type { JsonValue, PayloadRef } from '../engine/json.ts';
import type { Heartbeat } from '../engine/log/heartbeat-timeout.ts';
import type { Instant } from '../engine/time.ts';

/**
 * `stored`: this put wrote the item. `occupied`: the number was written before, possibly by an earlier try of this put;
 * the caller compares nonces. If the outcome stays unknown, the put throws `Unavailable` and the caller repeats it.
 */
export type PutResult = { readonly kind: 'stored' } | { readonly kind: 'occupied'; readonly nonce: Nonce };

/**
 * A stored fold, so that a long log need not be read from the start. It is a cache: readers with another schema version
 * ignore it. A negative schema means that `state` is the key of the fold in the bucket.
 */
export interface Snapshot {
  readonly asOf: CommitNo;
  readonly schema: number;
  readonly state: JsonValue;
}

/** One commit above the first. */
export interface CommitKey {
  readonly run: RunAddress;
  readonly number: CommitNo;
}

export interface RunLog {
  /**
   * Writes commit 1 if the run does not exist.
   * @param ended the end of a graph run whose first commit ends it, if nothing else remains to do for the end; default: `firstProjection`
   */
  create(run: RunCreation, ended?: HeadProjection): Promise<PutResult>;
  /** The run exists, or its writer is about to create it so. Later calls need not read how it was created. */
  recognize(run: RunCreation): void;
  /**
   * The run is probably of this kind, whose items may be stored apart from its head: they are then read beside the head, and not after it.
   * A wrong guess costs reads, and changes nothing that is found.
   */
  guess(run: RunAddress, kind: RunCreation['kind']): void;
  /**
   * Writes commit n > 1 if its number is free. `expiresAt` is the run's. Commit 2 becomes a part of the head if the head holds it
   * (`RunCreation`): then it is stored as long as the head.
   * @param ended only for a commit that the head holds: the end of the run, if this commit ends it and nothing else remains to do for the end
   * @throws Unavailable also if the head would hold the commit, and has expired
   */
  put(run: RunAddress, commit: Commit, expiresAt: Instant, ended?: HeadProjection): Promise<PutResult>;
  /**
   * Like `put`, for a run that does not exist yet: readers see the commit once the run exists.
   * @param head fields of the run's future head
   */
  prepare(run: RunAddress, commit: Commit, head: Pick<Head, 'expiresAt' | 'kind'>): Promise<PutResult>;
  /** The head; undefined if the scope has no such run. Strongly consistent. */
  head(run: RunAddress): Promise<Head | undefined>;
  /** Whether the projection of the run shows its end, on the side of the run's own items. Strongly consistent. */
  isFinalized(run: RunAddress): Promise<boolean>;
  /** The heads of these runs, in their order, each as `head` returns it; batched. */
  heads(runs: readonly RunAddress[]): Promise<readonly (Head | undefined)[]>;
  /**
   * The commits above `after` (without commit 1), ordered by number. Strongly consistent, but a number can be missing.
   * @param through the last commit to read
   */
  commitsAfter(run: RunAddress, after: CommitNo, through?: CommitNo): Promise<readonly Commit[]>;
  /** These commits, in the order of the keys; undefined for a free number. Strongly consistent and batched. */
  commits(keys: readonly CommitKey[]): Promise<readonly (Commit | undefined)[]>;
  /**
   * Updates the projection of the head if the stored one is not newer (`asOf <= :n`) and not terminal.
   * @param expiresAt the run's, as of its log; absent: as of its head
   */
  project(run: RunAddress, projection: HeadProjection, expiresAt?: Instant): Promise<void>;

  /**
   * Stores a value of the run beside its log, once for each name. Returns its reference, `item:<name>`.
   * @param head fields of the run's head; the run may not exist yet
   */
  attach(run: RunAddress, name: string, value: JsonValue, head: Pick<Head, 'expiresAt' | 'kind'>): Promise<PayloadRef>;
  attached(run: RunAddress, name: string): Promise<JsonValue | undefined>;

  heartbeat(run: RunAddress, heartbeat: Heartbeat, expiresAt: Instant): Promise<void>;
  /**
   * Writes the heartbeat if the stored one of its node is still the one that was read; undefined: there was none.
   * @returns whether this call wrote it. After a lost answer that a client library repeats, it is false although the first request
   * wrote it: the caller then yields to its own record, and recovery sends the job again.
   */
  replaceHeartbeat(run: RunAddress, read: Heartbeat | undefined, heartbeat: Heartbeat, expiresAt: Instant): Promise<boolean>;
  heartbeats(run: RunAddress): Promise<readonly Heartbeat[]>;

  saveSnapshot(run: RunAddress, snapshot: Snapshot, expiresAt: Instant): Promise<void>;
  snapshot(run: RunAddress): Promise<Snapshot | undefined>;

  /**
   * Moves the expiry of at most `limit` items of the run, in a fixed order and without the head, to `expiresAt`, where it is earlier.
   * A repeated call changes nothing.
   * @param page `after`: the result of the call before
   * @returns where the next call continues; undefined: no item of the run expires earlier
   */
  extendItems(
    run: RunAddress,
    expiresAt: Instant,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<string | undefined>;
  /** Records in the head how far `extendItems` has come, if the head exists and expires before `progress.expiresAt`. */
  saveRetentionProgress(run: RunAddress, progress: RetentionProgress): Promise<void>;
  /**
   * Moves deadline and expiry of the head, if it expires earlier, and removes the recorded progress. After the other items: the head
   * shows that they are extended.
   */
  extendHead(run: RunAddress, to: Pick<Head, 'deadlineAt' | 'expiresAt'>): Promise<void>;

  /**
   * Deletes an ended run: its head, attachments, heartbeats and snapshot. Each commit above the first becomes a
   * `tombstoneCommit`, the last one first, so that no commit number is free before `expiresAt`. No run can be created
   * under the same id. A second call completes an interrupted deletion.
   */
  deleteRun(run: RunAddress, expiresAt: Instant): Promise<void>;
}
