/** Finds runs: by scope for listings, by due time for the sweep. */
import type { RunAddress, RunId, Scope } from '../engine/ids.ts';
import type { WorkerCrash } from '../engine/log/deliveries.ts';
import type { Head, HeadProjection } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';
import type { Listing } from './external-runs.ts';

/** Cursor of a listing. Opaque to API clients, and validated against the scope. */
export interface ListPosition {
  /** creation time and run id of the last row of the page */
  readonly createdAt: Instant;
  readonly runId: string;
}

export interface RunPage {
  readonly heads: readonly Head[];
  /** only where the request includes them, and the page has some; in the same order */
  readonly externalRuns?: readonly Listing[];
  readonly next?: ListPosition;
}

export interface PageRequest {
  readonly limit: number;
  readonly after?: ListPosition;
  /** the page has external-worker runs too */
  readonly includesExternal?: true;
}

const listedStates = ['waiting', 'retrying', 'failed', 'cancelled'] as const;
export type ListedState = (typeof listedStates)[number];

/** The state under which the sparse index lists a run; undefined for a run that is running or completed. */
export const listedState = ({ status, attention }: HeadProjection): ListedState | undefined => {
  if (status === 'failed' || status === 'cancelled') return status;
  return status === 'completed' ? undefined : attention;
};

/** The same for an external-worker run. It is not listed as `waiting`: a worker that suspends a run does not write the listing. */
export const listedExternalState = ({ status, error }: Pick<Listing, 'status' | 'error'>): ListedState | undefined => {
  if (status === 'failed' || status === 'cancelled') return status;
  return status === 'pending' && error !== undefined ? 'retrying' : undefined;
};

/** A due entry: the sweep checks this run after the minute. */
export interface DueEntry {
  readonly run: RunAddress;
  /** whole minutes since the epoch */
  readonly minute: number;
  /** the run records the entry, so that deleting the run can delete the entry */
  readonly isRecordedOnRun?: true;
  /** the run did not exist at the first check */
  readonly isSecondCheck?: true;
}

/** A due entry of several runs of a scope. */
export interface SharedDueEntry {
  readonly scope: Scope;
  /** at most `maxSharedDueRuns` */
  readonly runIds: readonly RunId[];
  /** whole minutes since the epoch */
  readonly minute: number;
}

/** An entry of as many runs has less than 1 KB, so it costs one write unit. */
export const maxSharedDueRuns = 10;

export type DueRun = RunAddress & Pick<DueEntry, 'isSecondCheck'>;

export interface RunIndex {
  /** Newest first. The index is eventually consistent: a new run may be missing for a moment. */
  list(scope: Scope, options: PageRequest): Promise<RunPage>;
  /** Runs that need attention, failed or were cancelled, newest first. Eventually consistent. */
  listByState(scope: Scope, state: ListedState, options: PageRequest): Promise<RunPage>;

  /**
   * Writes a due entry. Idempotent; an entry of a second check does not replace an existing entry. Entries expire.
   */
  markDue(entry: DueEntry): Promise<void>;
  /**
   * Writes one due entry for several runs. Idempotent; it replaces no entry of other runs, and expires like the others. No run records it.
   */
  markDueTogether(entry: SharedDueEntry): Promise<void>;
  /** Deletes every due entry that the run records. */
  deleteDueEntries(run: RunAddress): Promise<void>;
  /** All runs that are due in the minute, each once: an entry of a second check counts only without another entry. Strongly consistent. */
  dueIn(minute: number): Promise<readonly DueRun[]>;
  /** The first of these minutes in which a run is due; undefined if there is none. Strongly consistent. */
  firstDueMinute(first: number, last: number): Promise<number | undefined>;
  /** The last minute that the sweep completed; undefined before the first sweep. Never decreases. */
  sweptMinute(): Promise<number | undefined>;
  recordSweptMinute(minute: number): Promise<void>;

  /** Records that a worker crashed in an attempt of this run. The record expires after two days. */
  recordCrash(run: RunAddress, crash: Omit<WorkerCrash, 'runId'>): Promise<void>;
  /** The crashes noticed in the interval (inclusive), in runs of all projects. Strongly consistent. */
  crashesBetween(from: Instant, to: Instant): Promise<readonly WorkerCrash[]>;
}
