/** Asking for work at a later time: a queue's delay where it is long enough, a timer beyond it. */
import { nodeKey } from '../engine/ids.ts';
import { type Instant, between, seconds } from '../engine/time.ts';
import { type PlaceJob, type WakeJob, type WorkJob, longestQueueDelayMs } from '../ports/jobs.ts';
import type { Deps } from './deps.ts';
import { type Asking, ofRun } from './jobs-of.ts';

/** Too far off for the delay of a queue. */
export const needsTimer = ({ clock }: Pick<Deps, 'clock'>, at: Instant): boolean =>
  between(clock.now(), at) > longestQueueDelayMs;

/** Delivers the job at that time or a little later; one that comes early waits again. */
export async function later(
  deps: Pick<Deps, 'clock' | 'jobs' | 'timers'>,
  at: Instant,
  job: WorkJob | WakeJob | PlaceJob,
): Promise<void> {
  if (needsTimer(deps, at)) return deps.timers.set({ name: timerName(job), at, job });
  return deps.jobs.sendLater(job, between(deps.clock.now(), at));
}

/** The same wait has the same name, so that setting it twice sets it once. */
const timerName = (job: WorkJob | WakeJob | PlaceJob): string => {
  const { projectId, environment, runId } = job.run;
  const own = job.kind === 'place' ? [] : [nodeKey(job), job.attempt, job.commit];
  return [projectId, environment, runId, ...own, job.kind].join('#');
};

/** Longer than a node may be silent before it is sent again, so that a nudge finds what it is meant to find. */
export const nudgeDelay = seconds(150);

/** Leaves a message that looks at the run again, whatever becomes of the sender. */
export const nudgeLater = (
  deps: Pick<Deps, 'jobs'>,
  asking: Asking,
  wait: Parameters<Deps['jobs']['sendLater']>[1],
): Promise<void> => deps.jobs.sendLater({ kind: 'nudge', ...ofRun(asking) }, wait);
