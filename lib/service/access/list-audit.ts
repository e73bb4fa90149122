/** Lists the audit entries of a scope, newest first. */
import type { CorrelationId, KeyId, RunId, Scope } from '../../engine/ids.ts';
import { type Instant, after as later, instant, minutes } from '../../engine/time.ts';
import type { AuditEntry, AuditPage, AuditPosition, RecordedEntry } from '../../ports/control.ts';
import type { Deps } from '../deps.ts';
import { auditRetention } from './record-audit.ts';

export interface AuditFilters {
  readonly action?: string;
  readonly result?: AuditEntry['result'];
  readonly keyId?: KeyId;
  /** who signed in */
  readonly subject?: string;
  readonly runId?: RunId;
  readonly correlationId?: CorrelationId;
  /** at or after */
  readonly since?: Instant;
  /** before */
  readonly until?: Instant;
}

/** Pages that one request reads if its filters match few entries; the caller continues with the cursor. */
export const maxPages = 10;
export const entriesPerPage = 100;
/** An entry that another function has just recorded may be ahead of this function's clock. */
const maxClockSkew = minutes(1);

export async function listAudit(
  { audit, clock }: Pick<Deps, 'audit' | 'clock'>,
  scope: Scope,
  filters: AuditFilters,
  { limit, after }: { readonly limit: number; readonly after?: AuditPosition },
): Promise<AuditPage> {
  const now = clock.now();
  const since = instant(Math.max(now - auditRetention, filters.since ?? 0));
  const newest: AuditPosition = { at: instant(Math.min(later(now, maxClockSkew), filters.until ?? Infinity)), id: '' };
  let before = after !== undefined && after.at < newest.at ? after : newest;
  const entries: RecordedEntry[] = [];
  for (let read = 0; read < maxPages; read += 1) {
    const page = await audit.listEntries(scope, { limit: entriesPerPage, before, since });
    entries.push(...page.entries.filter((entry) => matches(entry, filters)));
    const last = entries.at(limit - 1);
    if (entries.length > limit && last !== undefined) return cutPage(entries, limit, last);
    if (page.next === undefined) return { entries };
    before = page.next;
  }
  return { entries, next: before };
}

const cutPage = (entries: readonly RecordedEntry[], limit: number, { at, id }: AuditPosition): AuditPage => ({
  entries: entries.slice(0, limit),
  next: { at, id },
});

const matches = (entry: RecordedEntry, { action, result, keyId, subject, runId, correlationId }: AuditFilters): boolean =>
  (action === undefined || action === entry.action) &&
  (result === undefined || result === entry.result) &&
  (keyId === undefined || keyId === entry.keyId) &&
  (subject === undefined || subject === entry.session?.subject) &&
  (runId === undefined || runId === entry.metadata['runId']) &&
  (correlationId === undefined || correlationId === entry.metadata['correlationId']);
