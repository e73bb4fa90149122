/** Writes one audit entry. */
import { after, days } from '../../engine/time.ts';
import type { AuditEntry } from '../../ports/control.ts';
import type { Deps } from '../deps.ts';

/** Longer than a year, so that a yearly review finds every entry. */
export const auditRetention = days(400);

/**
 * Records an action with the current time. The caller awaits it before it responds: if the write fails, the response is `unavailable`
 * and the client retries.
 */
export async function recordAudit(deps: Pick<Deps, 'audit' | 'clock' | 'ids'>, entry: Omit<AuditEntry, 'at'>): Promise<void> {
  const at = deps.clock.now();
  await deps.audit.record(deps.ids.nonce(), { ...entry, at }, after(at, auditRetention));
}
