/** Answers a nudge: somebody may have died between a commit and its sends. */
import type { NudgeJob } from '../ports/jobs.ts';
import { lookKey } from '../engine/log/silence.ts';
import type { Decider } from './decide-run.ts';
import { nudgeDelay, nudgeLater } from './later.ts';
import { mendRun } from './mend-run.ts';
import { type RunFold, readRun } from './read-log.ts';

export async function nudgeRun(decider: Decider, job: NudgeJob): Promise<void> {
  const fold = await readRun(decider.deps, job.run);
  if (fold !== undefined) await mendAndHandOn(decider, fold);
}

/**
 * Mends, and hands on a nudge while any node is too young to be judged: one for all who look within a while, as each nudge lasts
 * as long as the run is at work.
 */
export async function mendAndHandOn(decider: Decider, fold: RunFold): Promise<void> {
  const { deps } = decider;
  const { address, expiresAt } = fold.head;
  const { wantsLook } = await mendRun(decider, fold);
  if (!wantsLook) return;
  await nudgeLater(deps, fold.head, nudgeDelay);
  // Sent first, noted second: a crash between the two leaves one nudge more.
  await deps.log.beat(address, { node: lookKey, at: deps.clock.now(), resends: 0 }, expiresAt);
}
