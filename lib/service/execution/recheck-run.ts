/** Handles a recheck: recovers the run, in case a process crashed between a commit and its effects. */
import type { RecheckJob } from '../../ports/jobs.ts';
import { recheckKey } from '../../engine/log/heartbeat-timeout.ts';
import type { Decider } from '../decider.ts';
import { recheckDelay, sendRecheck } from '../commit/schedule-message.ts';
import { recoverRun } from './recover-run.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';

export async function recheckRun(decider: Decider, job: RecheckJob): Promise<void> {
  const fold = await readRunFold(decider.deps, job.run);
  if (fold !== undefined) await recoverAndRecheck(decider, fold);
}

/**
 * Recovers the run, and sends another recheck while any node is within its heartbeat timeout. Concurrent rechecks share one successor,
 * because each would otherwise continue for as long as the run is running.
 */
export async function recoverAndRecheck(decider: Decider, fold: RunFold): Promise<void> {
  const { deps } = decider;
  const { address, expiresAt } = fold.head;
  const { needsRecheck } = await recoverRun(decider, fold);
  if (!needsRecheck) return;
  await sendRecheck(deps, fold.head, recheckDelay);
  // Sent first, recorded second: a crash in between causes one extra recheck.
  await deps.log.heartbeat(address, { node: recheckKey, at: deps.clock.now(), resends: 0 }, expiresAt);
}
