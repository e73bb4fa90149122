/** Deletions of workflows in memory. */
import type { RunId } from '../engine/ids.ts';
import type { DeletionKey, Deletions, FoundRun, WorkflowDeletion } from '../ports/deletions.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

const nameOf = (key: DeletionKey): string => `${scopeName(key)}#${key.name}#${key.throughVersion}`;

export class MemoryDeletions implements Deletions {
  readonly #deletions = new Map<string, WorkflowDeletion>();
  readonly #runs = new Map<string, Map<RunId, FoundRun>>();

  async begin(deletion: WorkflowDeletion): Promise<'stored' | 'occupied'> {
    if (this.#deletions.has(nameOf(deletion))) return 'occupied';
    this.#deletions.set(nameOf(deletion), frozenCopy(deletion));
    return 'stored';
  }

  async deletion(key: DeletionKey): Promise<WorkflowDeletion | undefined> {
    return this.#deletions.get(nameOf(key));
  }

  async all(): Promise<readonly WorkflowDeletion[]> {
    return [...this.#deletions.values()];
  }

  async replace(deletion: WorkflowDeletion): Promise<boolean> {
    if (this.#deletions.get(nameOf(deletion))?.revision !== deletion.revision - 1) return false;
    this.#deletions.set(nameOf(deletion), frozenCopy(deletion));
    return true;
  }

  async remove(deletion: WorkflowDeletion): Promise<void> {
    const existing = this.#deletions.get(nameOf(deletion));
    if (existing?.revision === deletion.revision) this.#deletions.delete(nameOf(deletion));
  }

  async addRuns(key: DeletionKey, runs: readonly FoundRun[]): Promise<void> {
    for (const run of runs) this.#runsOf(key).set(run.runId, frozenCopy(run));
  }

  async runs(
    key: DeletionKey,
    { limit, after }: { readonly limit: number; readonly after?: RunId },
  ): Promise<readonly FoundRun[]> {
    return [...this.#runsOf(key).values()]
      .filter(({ runId }) => after === undefined || runId > after)
      .toSorted((one, other) => (one.runId < other.runId ? -1 : 1))
      .slice(0, limit);
  }

  async removeRuns(key: DeletionKey, runIds: readonly RunId[]): Promise<void> {
    for (const runId of runIds) this.#runsOf(key).delete(runId);
  }

  #runsOf(key: DeletionKey): Map<RunId, FoundRun> {
    const known = this.#runs.get(nameOf(key)) ?? new Map<RunId, FoundRun>();
    this.#runs.set(nameOf(key), known);
    return known;
  }
}
