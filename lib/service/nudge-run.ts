/** Answers a nudge: somebody may have died between a commit and its sends. */
import type { NudgeJob } from '../ports/jobs.ts';
import type { Decider } from './decide-run.ts';
import { nudgeDelay, nudgeLater } from './later.ts';
import { mendRun } from './mend-run.ts';
import { type RunFold, readRun } from './read-log.ts';

export async function nudgeRun(decider: Decider, job: NudgeJob): Promise<void> {
  const fold = await readRun(decider.deps, job.run);
  if (fold !== undefined) await mendAndHandOn(decider, fold);
}

/** Mends, and hands on a nudge while any node is too young to be judged. */
export async function mendAndHandOn(decider: Decider, fold: RunFold): Promise<void> {
  const { isAnyYoung } = await mendRun(decider, fold);
  if (isAnyYoung) await nudgeLater(decider.deps, fold.head, nudgeDelay);
}
