/** The records of runs in memory, which the run log writes and the run index reads. */
import type { NodeKey, RunAddress, Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { Head } from '../engine/log/head.ts';
import type { Heartbeat } from '../engine/log/heartbeat-timeout.ts';
import type { Snapshot } from '../ports/run-log.ts';

/** All data of one run. Attachments may be written before the head. */
export interface RunRecord {
  head?: Head;
  /** the run was deleted, and its id stays reserved */
  isDeleted?: true;
  snapshot?: Snapshot;
  /** commit 2 and those after it, by number */
  readonly commits: Map<number, Commit>;
  readonly attachments: Map<string, JsonValue>;
  readonly heartbeats: Map<NodeKey, Heartbeat>;
  /** the minutes of the due entries that are recorded on the run */
  readonly dueMinutes: Set<number>;
}

export const scopeName = (scope: Scope): string => `${scope.projectId}#${scope.environment}`;
export const runName = (run: RunAddress): string => `${scopeName(run)}#${run.runId}`;

export class MemoryRuns {
  readonly #records = new Map<string, RunRecord>();

  record(run: RunAddress): RunRecord {
    const name = runName(run);
    const known = this.#records.get(name);
    if (known !== undefined) return known;
    const created: RunRecord = { commits: new Map(), attachments: new Map(), heartbeats: new Map(), dueMinutes: new Set() };
    this.#records.set(name, created);
    return created;
  }

  heads(scope: Scope): readonly Head[] {
    const prefix = `${scopeName(scope)}#`;
    return [...this.#records].flatMap(([name, { head }]) => (head !== undefined && name.startsWith(prefix) ? [head] : []));
  }
}
