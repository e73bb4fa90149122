/**
 * Deletions of workflows with their runs. A deletion takes longer than a request, so a record stores its progress.
 * Any process may continue a deletion at any time; every step is idempotent.
 */
import type { KeyId, RunId, Scope, WorkflowName } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { ListPosition } from './run-index.ts';

export const deletionPhases = ['closing', 'finding', 'deleting', 'freeing', 'settling', 'clearing'] as const;
/**
 * `closing`: the name accepts no versions and no runs any more. `finding`: list the project's runs and cancel the open
 * runs of the workflow. `deleting`: delete the runs that were found. `freeing`: release the name. `settling`: wait for
 * processes that began before, then find the runs that they created. `clearing`: delete the versions and this record's data.
 */
export type DeletionPhase = (typeof deletionPhases)[number];

export interface DeletionKey extends Scope {
  readonly name: WorkflowName;
  /** the deletion covers the versions up to this one and the runs that are pinned to them */
  readonly throughVersion: number;
}

export interface WorkflowDeletion extends DeletionKey {
  readonly requestedAt: Instant;
  readonly requestedBy: KeyId | null;
  readonly phase: DeletionPhase;
  /** cursor in the list of the project's runs; absent: before the first */
  readonly position?: ListPosition;
  /** cursor in the runs that were found; absent: before the first */
  readonly after?: RunId;
  readonly runsFound: number;
  readonly runsDeleted: number;
  /** when the name was released; absent: not yet */
  readonly freedAt?: Instant;
  /** from then on no process is active that began before the name was released or before the last run was found */
  readonly settledAt?: Instant;
  /** counts the changes of this record */
  readonly revision: number;
}

/** A run that the deletion covers. */
export interface FoundRun {
  readonly runId: RunId;
  /** when the run's tombstone expires */
  readonly expiresAt: Instant;
  /** A worker may still execute the run and write after the deletion, so the run is deleted a second time at the end. */
  readonly isRecent: boolean;
}

export interface Deletions {
  /** Writes the record if none exists under its key. */
  begin(deletion: WorkflowDeletion): Promise<'stored' | 'occupied'>;
  /** Strongly consistent. */
  deletion(key: DeletionKey): Promise<WorkflowDeletion | undefined>;
  /** The deletions of all scopes. Strongly consistent. */
  all(): Promise<readonly WorkflowDeletion[]>;
  /** Replaces the previous revision; false if another revision is stored. */
  replace(deletion: WorkflowDeletion): Promise<boolean>;
  /** Removes the record if its revision is still this one. */
  remove(deletion: WorkflowDeletion): Promise<void>;

  /** Records runs that were found. A second record of a run replaces the first. */
  addRuns(key: DeletionKey, runs: readonly FoundRun[]): Promise<void>;
  /** The first `limit` found runs after the given id, ascending. Strongly consistent. */
  runs(key: DeletionKey, options: { readonly limit: number; readonly after?: RunId }): Promise<readonly FoundRun[]>;
  removeRuns(key: DeletionKey, runIds: readonly RunId[]): Promise<void>;
}
