/** Sends a job for a later time: by the queue's delay if that is long enough, otherwise by a timer. */
import { nodeKey } from '../../engine/ids.ts';
import { type Instant, between, seconds } from '../../engine/time.ts';
import { type SlotJob, type WakeJob, type WorkJob, maxQueueDelayMs } from '../../ports/jobs.ts';
import type { Deps } from '../deps.ts';
import { type JobOrigin, originFields } from './job-messages.ts';

/** Whether the time is beyond the longest delay of a queue. */
export const needsTimer = ({ clock }: Pick<Deps, 'clock'>, at: Instant): boolean => between(clock.now(), at) > maxQueueDelayMs;

/** Delivers the job at that time or a little later. A job that is delivered early is sent again. */
export async function sendJobAt(
  deps: Pick<Deps, 'clock' | 'jobs' | 'timers'>,
  at: Instant,
  job: WorkJob | WakeJob | SlotJob,
): Promise<void> {
  if (needsTimer(deps, at)) return deps.timers.set({ name: timerName(job), at, job });
  return deps.jobs.sendDelayed(job, between(deps.clock.now(), at));
}

/** The name is derived from the wait, so that setting a timer twice sets it once. */
const timerName = (job: WorkJob | WakeJob | SlotJob): string => {
  const { projectId, environment, runId } = job.run;
  if (job.kind === 'devkit')
    return [projectId, environment, runId, job.deduplication, job.attempt, job.notBefore, job.kind].join('#');
  const waitKey = job.kind === 'slot' ? [] : [nodeKey(job), job.attempt, job.commit];
  return [projectId, environment, runId, ...waitKey, job.kind].join('#');
};

/** Longer than the first heartbeat timeout, so that a recheck finds a node whose heartbeat timed out. */
export const recheckDelay = seconds(150);

/** Sends a delayed message that makes a worker check the run again, even if the sender dies. */
export const sendRecheck = (
  deps: Pick<Deps, 'jobs'>,
  origin: JobOrigin,
  delay: Parameters<Deps['jobs']['sendDelayed']>[1],
): Promise<void> => deps.jobs.sendDelayed({ kind: 'recheck', ...originFields(origin) }, delay);
