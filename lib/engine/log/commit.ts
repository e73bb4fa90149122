/** A commit is one item of the log: events that one conditional write records together. */
import { type CommitNo, type EventId, type Nonce, type RunAddress, commitNo, eventId, nonce } from '../ids.ts';
import { type Instant, durationMs } from '../time.ts';
import type { RunEvent } from './events.ts';

export interface Commit {
  readonly number: CommitNo;
  readonly firstEventId: EventId;
  readonly events: readonly RunEvent[];
  /** the writer's clock; it never defines an order */
  readonly at: Instant;
  /** the writer, for operators: `api`, `worker`, `collect`, `sweep` … */
  readonly by: string;
  /** lets the writer recognise its own put after a conflict */
  readonly nonce: Nonce;
}

/** Id of the first event after this commit. */
export const eventIdAfter = (commit: Pick<Commit, 'firstEventId' | 'events'>): EventId =>
  eventId(commit.firstEventId + commit.events.length);

export const nextCommitNo = (number: CommitNo): CommitNo => commitNo(number + 1);

/** The published, immutable version that `graph#` runs start from. */
export interface PinnedVersion {
  readonly name: string;
  readonly version: number;
}

/** The unpublished graph of a test run, stored beside the run's log. */
export interface CarriedGraph extends PinnedVersion {
  readonly carriedBy: RunAddress;
}

/** The nonce of every tombstone. Random nonces are longer. */
export const tombstoneNonce = nonce('tombstone');

export const isTombstone = (commit: Pick<Commit, 'nonce'>): boolean => commit.nonce === tombstoneNonce;

/**
 * Replaces each commit of a deleted run until the run's items expire: it cancels the run and contains nothing else. A writer with an
 * older fold finds its commit number taken and the run cancelled.
 */
export const tombstoneCommit = ({ number, firstEventId, at }: Pick<Commit, 'number' | 'firstEventId' | 'at'>): Commit => ({
  number,
  firstEventId,
  at,
  events: [{ type: 'RUN_CANCELLED' }],
  by: 'test-runs',
  nonce: tombstoneNonce,
});

/** A pack is committed when its first result is this old, so that watchers see progress and a crash costs little. */
export const maxPackAge = durationMs(250);
/** A pack is committed when its events as JSON are longer than this. Compressed, they then take a few write units. */
export const maxPackLength = 65_536;
