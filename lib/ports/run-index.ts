/** Finding runs: by scope for people, by due time for the sweep. */
import type { RunAddress, Scope } from '../engine/ids.ts';
import type { WorkerCrash } from '../engine/log/deliveries.ts';
import type { Head, HeadProjection } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';

/** Where a listing goes on. Opaque to callers, checked against the scope when it comes back. */
export interface ListPosition {
  /** creation time and run id of the last row given, newest first */
  readonly createdAt: Instant;
  readonly runId: string;
}

export interface RunPage {
  readonly heads: readonly Head[];
  readonly next?: ListPosition;
}

const listedStates = ['waiting', 'retrying', 'failed', 'cancelled'] as const;
export type ListedState = (typeof listedStates)[number];

/** Under which state the sparse listing holds a run; a run that just runs, or ended well, is in none. */
export const listedState = ({ status, attention }: HeadProjection): ListedState | undefined => {
  if (status === 'failed' || status === 'cancelled') return status;
  return status === 'completed' ? undefined : attention;
};

/** One entry of the sweep's diary: look at this run when the minute has passed. */
export interface DueEntry {
  readonly run: RunAddress;
  /** whole minutes since the epoch */
  readonly minute: number;
  /** the run remembers that it has this entry, so that it can be forgotten with it */
  readonly isRecordedOnRun?: true;
  /** there was no such run when it was to be looked at first */
  readonly isSecondCheck?: true;
}

export type DueRun = RunAddress & Pick<DueEntry, 'isSecondCheck'>;

export interface RunIndex {
  /** Newest first. The index may be late: a run just created may be missing for a moment. */
  list(scope: Scope, options: { readonly limit: number; readonly after?: ListPosition }): Promise<RunPage>;
  /** The sparse listing of runs that need attention or ended badly, newest first by creation; as late as the other. */
  listByState(
    scope: Scope,
    state: ListedState,
    options: { readonly limit: number; readonly after?: ListPosition },
  ): Promise<RunPage>;

  /**
   * Writes that the sweep must look at the run in that minute; writing it twice is once, and a second look changes nothing of
   * another that stands there. Expires by itself.
   */
  markDue(entry: DueEntry): Promise<void>;
  /** Takes away every entry of the run that was noted. */
  deleteDueEntries(run: RunAddress): Promise<void>;
  /** All runs due in that minute, read strongly. */
  dueIn(minute: number): Promise<readonly DueRun[]>;
  /** The last minute the sweep has passed completely; undefined before the first sweep. Never goes back. */
  sweptMinute(): Promise<number | undefined>;
  recordSweptMinute(minute: number): Promise<void>;

  /** Notes that a worker died in an attempt of this run. Expires by itself, two days later. */
  recordCrash(run: RunAddress, crash: Omit<WorkerCrash, 'runId'>): Promise<void>;
  /** The deaths that were noticed in that time, in runs of all projects; both ends included, and read strongly. */
  crashesBetween(from: Instant, to: Instant): Promise<readonly WorkerCrash[]>;
}
