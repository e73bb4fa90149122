/** Writes one entry of the audit trail. */
import { after, days } from '../../engine/time.ts';
import type { AuditEntry } from '../../ports/control.ts';
import type { Deps } from '../deps.ts';

/** Longer than a year, so that a yearly review finds all of it. */
export const auditRetention = days(400);

/**
 * Records what was done, as of now. It is awaited before the answer: a mutation that cannot be recorded is answered as
 * `unavailable`, and its caller repeats it.
 */
export async function recordAudit(deps: Pick<Deps, 'audit' | 'clock' | 'ids'>, entry: Omit<AuditEntry, 'at'>): Promise<void> {
  const at = deps.clock.now();
  await deps.audit.record(deps.ids.nonce(), { ...entry, at }, after(at, auditRetention));
}
