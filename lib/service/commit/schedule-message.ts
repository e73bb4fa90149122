/** Asking for work at a later time: a queue's delay where it is long enough, a timer beyond it. */
import { nodeKey } from '../../engine/ids.ts';
import { type Instant, between, seconds } from '../../engine/time.ts';
import { type SlotJob, type WakeJob, type WorkJob, maxQueueDelayMs } from '../../ports/jobs.ts';
import type { Deps } from '../deps.ts';
import { type JobOrigin, originFields } from './job-messages.ts';

/** Too far off for the delay of a queue. */
export const needsTimer = ({ clock }: Pick<Deps, 'clock'>, at: Instant): boolean => between(clock.now(), at) > maxQueueDelayMs;

/** Delivers the job at that time or a little later; one that comes early waits again. */
export async function sendJobAt(
  deps: Pick<Deps, 'clock' | 'jobs' | 'timers'>,
  at: Instant,
  job: WorkJob | WakeJob | SlotJob,
): Promise<void> {
  if (needsTimer(deps, at)) return deps.timers.set({ name: timerName(job), at, job });
  return deps.jobs.sendDelayed(job, between(deps.clock.now(), at));
}

/** The same wait has the same name, so that setting it twice sets it once. */
const timerName = (job: WorkJob | WakeJob | SlotJob): string => {
  const { projectId, environment, runId } = job.run;
  const waitKey = job.kind === 'slot' ? [] : [nodeKey(job), job.attempt, job.commit];
  return [projectId, environment, runId, ...waitKey, job.kind].join('#');
};

/** Longer than a node may be silent before it is sent again, so that a nudge finds what it is meant to find. */
export const recheckDelay = seconds(150);

/** Leaves a message that looks at the run again, whatever becomes of the sender. */
export const sendRecheck = (
  deps: Pick<Deps, 'jobs'>,
  origin: JobOrigin,
  delay: Parameters<Deps['jobs']['sendDelayed']>[1],
): Promise<void> => deps.jobs.sendDelayed({ kind: 'recheck', ...originFields(origin) }, delay);
