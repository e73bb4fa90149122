/** Answers a nudge: somebody may have died between a commit and its sends. */
import { seconds } from '../engine/time.ts';
import type { NudgeJob } from '../ports/jobs.ts';
import type { Deps } from './deps.ts';
import { nudgeLater } from './later.ts';
import { mendRun } from './mend-run.ts';
import { type RunFold, readRun } from './read-log.ts';

/** Longer than a node may be silent before it is sent again, so that a nudge finds what it is meant to find. */
export const nudgeDelay = seconds(150);

export async function nudgeRun(deps: Deps, job: NudgeJob): Promise<void> {
  const fold = await readRun(deps, job.run);
  if (fold !== undefined) await mendAndHandOn(deps, fold);
}

/** Mends, and hands on a nudge while any node is too young to be judged. */
export async function mendAndHandOn(deps: Deps, fold: RunFold): Promise<void> {
  const { isAnyYoung } = await mendRun(deps, fold);
  if (isAnyYoung) await nudgeLater(deps, fold.head, nudgeDelay);
}
