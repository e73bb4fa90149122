/** Answers a nudge: somebody may have died between a commit and its sends. */
import type { RecheckJob } from '../../ports/jobs.ts';
import { recheckKey } from '../../engine/log/heartbeat-timeout.ts';
import type { Decider } from '../commit/decide-run.ts';
import { recheckDelay, sendRecheck } from '../commit/schedule-message.ts';
import { recoverRun } from './recover-run.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';

export async function recheckRun(decider: Decider, job: RecheckJob): Promise<void> {
  const fold = await readRunFold(decider.deps, job.run);
  if (fold !== undefined) await recoverAndRecheck(decider, fold);
}

/**
 * Mends, and hands on a nudge while any node is too young to be judged: one for all who look within a while, as each nudge lasts
 * as long as the run is at work.
 */
export async function recoverAndRecheck(decider: Decider, fold: RunFold): Promise<void> {
  const { deps } = decider;
  const { address, expiresAt } = fold.head;
  const { needsRecheck } = await recoverRun(decider, fold);
  if (!needsRecheck) return;
  await sendRecheck(deps, fold.head, recheckDelay);
  // Sent first, noted second: a crash between the two leaves one nudge more.
  await deps.log.heartbeat(address, { node: recheckKey, at: deps.clock.now(), resends: 0 }, expiresAt);
}
