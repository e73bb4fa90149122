/**
 * Deletions of workflows with their runs, which take longer than a request. The record says how far one has come: any process may
 * continue it at any time, and a step that is done twice is done once.
 */
import type { KeyId, RunId, Scope, WorkflowName } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { ListPosition } from './run-index.ts';

export const deletionPhases = ['closing', 'finding', 'deleting', 'freeing', 'settling', 'clearing'] as const;
/**
 * `closing`: no version is added and no run starts any more. `finding`: the project's runs are looked through, and open ones of the
 * workflow are cancelled. `deleting`: the runs that were found are deleted. `freeing`: the name ends. `settling`: wait for processes
 * that began before, then look for runs that they made. `clearing`: delete the versions and what this record needed.
 */
export type DeletionPhase = (typeof deletionPhases)[number];

export interface DeletionKey extends Scope {
  readonly name: WorkflowName;
  /** the versions up to this one are deleted, and the runs that are pinned to them */
  readonly throughVersion: number;
}

export interface WorkflowDeletion extends DeletionKey {
  readonly requestedAt: Instant;
  readonly requestedBy: KeyId | null;
  readonly phase: DeletionPhase;
  /** in the list of the project's runs; absent: at its beginning */
  readonly position?: ListPosition;
  /** among the runs that were found; absent: before the first */
  readonly after?: RunId;
  readonly runsFound: number;
  readonly runsDeleted: number;
  /** when the name ended; absent: it has not */
  readonly freedAt?: Instant;
  /** when no process that began before the name ended, or before the last run was found, is at work any more */
  readonly settledAt?: Instant;
  /** counts the changes of this record */
  readonly revision: number;
}

/** A run that is to be deleted. */
export interface FoundRun {
  readonly runId: RunId;
  /** when what is left in its place expires */
  readonly expiresAt: Instant;
  /** a worker may be at work on it, and write after its deletion: it is deleted once more at the end */
  readonly isRecent: boolean;
}

export interface Deletions {
  /** Writes it on the condition that there is none of that key. */
  begin(deletion: WorkflowDeletion): Promise<'stored' | 'occupied'>;
  /** Read strongly. */
  deletion(key: DeletionKey): Promise<WorkflowDeletion | undefined>;
  /** Of all scopes, read strongly. */
  all(): Promise<readonly WorkflowDeletion[]>;
  /** Puts it in the place of the revision before its own; false where that is not what is stored. */
  replace(deletion: WorkflowDeletion): Promise<boolean>;
  /** Removes it, unless it has been changed since. */
  remove(deletion: WorkflowDeletion): Promise<void>;

  /** Notes runs that were found. A run that is noted again is noted as it is by then. */
  addRuns(key: DeletionKey, runs: readonly FoundRun[]): Promise<void>;
  /** The first `limit` of them after a run, by id, read strongly. */
  runs(key: DeletionKey, options: { readonly limit: number; readonly after?: RunId }): Promise<readonly FoundRun[]>;
  removeRuns(key: DeletionKey, runIds: readonly RunId[]): Promise<void>;
}
