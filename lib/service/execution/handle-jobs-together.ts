/**
 * Executes the first jobs of several runs, which one message brought (`Jobs.sendTogether`). They run one after the other, because a
 * worker executes one node at a time. Runs of quick nodes end together in one invocation. A slow node holds up none of the others: after
 * a moment the jobs that have not begun get messages of their own.
 */
import { seconds } from '../../engine/time.ts';
import type { JobsTogether, NodeJob } from '../../ports/jobs.ts';
import { withoutRun } from '../run-log/carried-run.ts';
import type { Deps } from '../deps.ts';
import type { Delivery } from '../worker.ts';

/** How long a run waits for those before it. In AWS a run of a few scripts takes about 30 ms of a warm worker: ten of them, a third of this. */
export const maxHoldUp = seconds(1);

/** @param handle executes one of the jobs. @throws the first error, after the other jobs were executed or sent */
export async function handleJobsTogether(
  { jobs, clock }: Pick<Deps, 'jobs' | 'clock'>,
  together: JobsTogether,
  { isRedelivered }: Pick<Delivery, 'isRedelivered'>,
  handle: (job: NodeJob) => Promise<void>,
): Promise<void> {
  // A worker may have crashed at one of them. In messages of their own, the next crash is attributed to the run that caused it. Those
  // that it has executed are executed again unless their workers read the log.
  if (isRedelivered) return jobs.send(together.jobs.map(withoutRun));
  const waiting: NodeJob[] = [...together.jobs];
  const ended = new AbortController();
  const sendRest = async (): Promise<void> => {
    await clock.sleep(maxHoldUp, ended.signal);
    const rest = waiting.splice(0);
    if (rest.length > 0) await jobs.send(rest);
  };
  // Settled, because it can fail long before the slow job ends, and an error that no one handles ends the process.
  const heldUp = Promise.allSettled([sendRest()]);
  const errors: unknown[] = [];
  for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
    try {
      await handle(job);
    } catch (error) {
      errors.push(error);
    }
  }
  ended.abort();
  const [sent] = await heldUp;
  if (sent.status === 'rejected') errors.push(sent.reason);
  // The message comes again, and each of its jobs gets a message of its own. A job that has been executed changes nothing.
  if (errors.length > 0) throw errors[0];
}
