/**
 * The run log: one item per commit, written once by one conditional put, read strongly.
 * Adapters translate and never judge; whoever reads checks that commit numbers are dense (`service/read-log.ts`).
 */
import type { CommitNo, Nonce, RunAddress } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { Head, HeadProjection, RunCreation } from '../engine/log/head.ts';
import type { JsonValue, PayloadRef } from '../engine/json.ts';
import type { Heartbeat } from '../engine/log/heartbeat-timeout.ts';
import type { Instant } from '../engine/time.ts';

/**
 * `stored`: this put wrote the item. `occupied`: the slot was taken before, maybe by an earlier try of this very put:
 * the caller compares nonces. An outcome that stays unknown is thrown as `Unavailable`, and the same put is repeated.
 */
export type PutResult = { readonly kind: 'stored' } | { readonly kind: 'occupied'; readonly nonce: Nonce };

/** The heartbeat item of a node: that its worker is at work, or that its job was sent again. */
export type StoredHeartbeat = Heartbeat;

/**
 * A fold kept so that long logs need not be read from the start. A cache: another schema version ignores it. The schema's negative says
 * that `state` is the fold's name in the bucket.
 */
export interface Snapshot {
  readonly asOf: CommitNo;
  readonly schema: number;
  readonly state: JsonValue;
}

/** What is above a commit of a run. */
export interface LogTail {
  readonly run: RunAddress;
  readonly after: CommitNo;
}

export interface RunLog {
  /** Writes commit 1, on the condition that the run does not exist. */
  create(run: RunCreation): Promise<PutResult>;
  /** Writes commit n > 1, on the condition that the slot is free. `expiresAt` is the run's. */
  put(run: RunAddress, commit: Commit, expiresAt: Instant): Promise<PutResult>;
  /** The head, read strongly; undefined where no such run exists in this scope. */
  head(run: RunAddress): Promise<Head | undefined>;
  /** The heads of these runs, in their order, each as `head` gives it; in few requests. */
  heads(runs: readonly RunAddress[]): Promise<readonly (Head | undefined)[]>;
  /**
   * The commits above `after` (not commit 1), in order of number, read strongly. May be torn: a number can be missing.
   * @param through those above it are not wanted
   */
  commitsAfter(run: RunAddress, after: CommitNo, through?: CommitNo): Promise<readonly Commit[]>;
  /** Of each tail, the first `most` commits above its `after`, as `commitsAfter` gives them; of many runs in few requests. */
  nextCommits(tails: readonly LogTail[], maxCommits: number): Promise<readonly (readonly Commit[])[]>;
  /** Updates the projection where it is not newer (`asOf <= :n`) and not terminal; otherwise changes nothing. */
  project(run: RunAddress, projection: HeadProjection): Promise<void>;

  /**
   * Keeps a value of the run beside its log under a name of its own; written once. `item:<name>` names it.
   * @param of the run, which may not exist yet
   */
  attach(run: RunAddress, name: string, value: JsonValue, of: Pick<Head, 'expiresAt' | 'kind'>): Promise<PayloadRef>;
  attached(run: RunAddress, name: string): Promise<JsonValue | undefined>;

  heartbeat(run: RunAddress, heartbeat: StoredHeartbeat, expiresAt: Instant): Promise<void>;
  heartbeats(run: RunAddress): Promise<readonly StoredHeartbeat[]>;

  saveSnapshot(run: RunAddress, snapshot: Snapshot, expiresAt: Instant): Promise<void>;
  snapshot(run: RunAddress): Promise<Snapshot | undefined>;

  /**
   * Forgets an ended run: it has no head, no attachments, no beats and no snapshot any more, and each commit above the
   * first is a `tombstoneCommit`, the last one first, so that no slot ever becomes free again before `expiresAt`. Another
   * run cannot be created in its place. Doing it again finishes what was left half done.
   */
  deleteRun(run: RunAddress, expiresAt: Instant): Promise<void>;
}
