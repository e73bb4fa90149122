/** The records of runs in memory, which the run log writes and the run index reads. */
import { type NodeKey, type RunAddress, type Scope, secondCommit } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Commit } from '../engine/log/commit.ts';
import { type Head, isHeldByHead } from '../engine/log/head.ts';
import type { Heartbeat } from '../engine/log/heartbeat-timeout.ts';
import type { Instant } from '../engine/time.ts';
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
  /** when each item except the head expires, by its name */
  readonly expiries: Map<string, Instant>;
  /** the minutes of the due entries that are recorded on the run */
  readonly dueMinutes: Set<number>;
}

/** An item of the table or a value of the bucket, and when it expires. */
export interface StoredExpiry {
  readonly name: string;
  readonly expiresAt: Instant;
}

export const scopeName = (scope: Scope): string => `${scope.projectId}#${scope.environment}`;
export const runName = (run: RunAddress): string => `${scopeName(run)}#${run.runId}`;

export class MemoryRuns {
  readonly #records = new Map<string, RunRecord>();

  record(run: RunAddress): RunRecord {
    const name = runName(run);
    const known = this.#records.get(name);
    if (known !== undefined) return known;
    const created: RunRecord = {
      commits: new Map(),
      attachments: new Map(),
      heartbeats: new Map(),
      expiries: new Map(),
      dueMinutes: new Set(),
    };
    this.#records.set(name, created);
    return created;
  }

  /** Deletes what has expired, as the TTL of the table does. The other items of a run remain. */
  deleteExpired(now: Instant): void {
    for (const record of this.#records.values()) {
      if (record.head !== undefined && record.head.expiresAt <= now) {
        if (isHeldByHead(record.head, { number: secondCommit })) record.commits.delete(secondCommit);
        delete record.head;
      }
      for (const [name, expiresAt] of record.expiries) {
        if (expiresAt > now) continue;
        record.expiries.delete(name);
        deleteItem(record, name);
      }
    }
  }

  expiriesOf(run: RunAddress): readonly StoredExpiry[] {
    const { head, expiries } = this.record(run);
    const items = [...expiries].map(([name, expiresAt]) => ({ name, expiresAt }));
    return head === undefined ? items : [{ name: 'head', expiresAt: head.expiresAt }, ...items];
  }

  heads(scope: Scope): readonly Head[] {
    const prefix = `${scopeName(scope)}#`;
    return [...this.#records].flatMap(([name, { head }]) => (head !== undefined && name.startsWith(prefix) ? [head] : []));
  }
}

/** Names of items, as in `RunRecord.expiries`. */
export const itemNames = {
  commit: (number: number): string => `log#${String(number).padStart(8, '0')}`,
  attachment: (name: string): string => `item#${name}`,
  heartbeat: (node: NodeKey): string => `heartbeat#${node}`,
  snapshot: 'snapshot',
};

function deleteItem(record: RunRecord, name: string): void {
  for (const number of record.commits.keys()) if (itemNames.commit(number) === name) record.commits.delete(number);
  for (const key of record.attachments.keys()) if (itemNames.attachment(key) === name) record.attachments.delete(key);
  for (const node of record.heartbeats.keys()) if (itemNames.heartbeat(node) === name) record.heartbeats.delete(node);
  if (name === itemNames.snapshot) delete record.snapshot;
}
