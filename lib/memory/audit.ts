/** The audit trail in memory. */
import type { Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Audit, AuditEntry, AuditPage, AuditPosition } from '../ports/control.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

export class MemoryAudit implements Audit {
  /** by id, in the order of the first writes */
  readonly entries = new Map<string, AuditEntry>();

  async record(id: string, entry: AuditEntry): Promise<void> {
    this.entries.set(id, frozenCopy(entry));
  }

  async listEntries(
    scope: Scope,
    { limit, before, since }: { readonly limit: number; readonly before: AuditPosition; readonly since: Instant },
  ): Promise<AuditPage> {
    const rest = [...this.entries]
      .map(([id, entry]) => ({ ...entry, id }))
      .filter((entry) => entry.scope !== null && scopeName(entry.scope) === scopeName(scope))
      .filter((entry) => isNewer(before, entry) && entry.at >= since)
      .toSorted((one, other) => (isNewer(one, other) ? -1 : 1));
    const entries = rest.slice(0, limit);
    const last = entries.at(-1);
    return rest.length > limit && last !== undefined ? { entries, next: { at: last.at, id: last.id } } : { entries };
  }
}

const isNewer = (one: AuditPosition, other: AuditPosition): boolean =>
  one.at === other.at ? one.id > other.id : one.at > other.at;
