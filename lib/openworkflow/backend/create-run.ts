/** Creates a run; with an idempotency key, once in a day. */
import type { PolledCreation } from '../../engine/polled/entry.ts';
import type { PolledState } from '../../engine/polled/fold.ts';
import { polledRunId } from '../../engine/polled/ids.ts';
import { forgetAt } from '../../engine/polled/run.ts';
import { hours, instant } from '../../engine/time.ts';
import type { Ledgers } from './ledgers.ts';
import type { BackendParts } from './parts.ts';

const keyHeldFor = hours(24);

export async function createRun(
  { store, clock, newId }: BackendParts,
  ledgers: Ledgers,
  namespaceId: string,
  creation: PolledCreation,
): Promise<PolledState> {
  const ownId = polledRunId(newId());
  const { idempotencyKey, workflowName, parent, deadlineAt } = creation;
  if (idempotencyKey === null) return ledgers.create({ namespaceId, runId: ownId }, creation);
  const now = clock.now();
  // A step has one child, however late it asks again.
  const notBefore = parent === null ? instant(now - keyHeldFor) : instant(0);
  const key = JSON.stringify([workflowName, idempotencyKey]);
  const until = forgetAt({ createdAt: now, deadlineAt });
  const holding = await store.hold(namespaceId, key, { runId: ownId, at: now }, notBefore, until);
  const run = { namespaceId, runId: holding.kind === 'held' ? ownId : holding.by.runId };
  // Whoever held the key first may have died before the run was there: then it is created now, under the same id.
  const standing = holding.kind === 'held' ? undefined : await ledgers.state(run);
  return standing ?? ledgers.create(run, creation);
}
