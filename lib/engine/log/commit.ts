/** A commit is one item of the log: facts that became true together, by one conditional write. */
import { type CommitNo, type EventId, type Nonce, type RunAddress, commitNo, eventId } from '../ids.ts';
import type { Instant } from '../time.ts';
import type { RunEvent } from './events.ts';

export interface Commit {
  readonly number: CommitNo;
  readonly firstEventId: EventId;
  readonly events: readonly RunEvent[];
  /** the writer's clock; orders nothing */
  readonly at: Instant;
  /** who wrote it, for people: `api`, `worker`, `collect`, `sweep` … */
  readonly by: string;
  /** tells one's own put from another's */
  readonly nonce: Nonce;
}

/** The id of the first event behind this commit: the previous commit's first plus its number of events. */
export const eventIdAfter = (commit: Pick<Commit, 'firstEventId' | 'events'>): EventId =>
  eventId(commit.firstEventId + commit.events.length);

export const nextCommitNo = (number: CommitNo): CommitNo => commitNo(number + 1);

/** What `graph#` runs were started from: one published, immutable version. */
export interface PinnedVersion {
  readonly name: string;
  readonly version: number;
}

/** What a test run was started from: a graph of its own, kept beside its log. */
export interface CarriedGraph extends PinnedVersion {
  readonly carriedBy: RunAddress;
}
