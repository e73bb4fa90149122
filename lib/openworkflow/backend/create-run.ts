/** Creates a run; with an idempotency key at most once a day. */
import type { ExternalCreation } from '../../engine/external/entry.ts';
import type { ExternalState } from '../../engine/external/fold.ts';
import { externalRunId, retainUntil } from '../../engine/external/run.ts';
import { hours, instant } from '../../engine/time.ts';
import type { RunLogs } from './run-logs.ts';
import type { BackendDeps } from './deps.ts';

const keyLifetime = hours(24);

export async function createRun(
  { store, clock, newId }: BackendDeps,
  runLogs: RunLogs,
  namespaceId: string,
  creation: ExternalCreation,
): Promise<ExternalState> {
  const newRunId = externalRunId(newId());
  const { idempotencyKey, workflowName, parent, deadlineAt } = creation;
  if (idempotencyKey === null) return runLogs.create({ namespaceId, runId: newRunId }, creation);
  const now = clock.now();
  // A step has one child, also when a later replay requests it again.
  const notBefore = parent === null ? instant(now - keyLifetime) : instant(0);
  const key = JSON.stringify([workflowName, idempotencyKey]);
  const expiresAt = retainUntil({ createdAt: now, deadlineAt });
  const reservation = await store.reserveKey(namespaceId, key, { runId: newRunId, at: now }, notBefore, expiresAt);
  const run = { namespaceId, runId: reservation.kind === 'reserved' ? newRunId : reservation.by.runId };
  // The first holder of the key may have crashed before it created the run: create it now, under the same id.
  const existing = reservation.kind === 'reserved' ? undefined : await runLogs.state(run);
  return existing ?? runLogs.create(run, creation);
}
