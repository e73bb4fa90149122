/**
 * After an extension of the deadline, everything that the run has stored must expire later. A message moves the expiries 15 minutes
 * after the commit. The earlier ones are more than a day away (`latestEndAfterDeadline`). The sweep repeats a message that was lost:
 * the head, which is moved last, shows whether all is done.
 */
import type { Head } from '../../engine/log/head.ts';
import type { DeadlineExtension } from '../../engine/log/run-state.ts';
import { type DurationMs, type Instant, after, durationMs, minutes } from '../../engine/time.ts';
import { maxQueueDelayMs } from '../../ports/jobs.ts';
import type { Deps } from '../deps.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { originFields } from './job-messages.ts';
import { markDue } from './mark-due.ts';

/** An attempt lasts at most 15 minutes. One that began before the commit writes with the earlier expiry. */
export const retentionDelay = durationMs(maxQueueDelayMs);
/** When the sweep checks whether the message was handled. */
const retentionCheckDelay = minutes(20);

export async function scheduleRetention(deps: Pick<Deps, 'clock' | 'index' | 'jobs'>, head: Head): Promise<void> {
  await markDue(deps, head, retentionCheckAt(deps));
  await sendRetention(deps, head, retentionDelay);
}

export const sendRetention = ({ jobs }: Pick<Deps, 'jobs'>, head: Head, delay: DurationMs): Promise<void> =>
  jobs.sendDelayed({ kind: 'retention', ...originFields(head) }, delay);

/** For how long the expiries must not move yet: a forged message may come at any time. */
export const untilRetention = ({ clock }: Pick<Deps, 'clock'>, extension: DeadlineExtension | undefined): DurationMs =>
  durationMs(extension === undefined ? 0 : Math.max(0, extension.at + retentionDelay - clock.now()));

/**
 * For the sweep. Only a run whose deadline was extended costs a read.
 * @param extendedBefore the extended deadline before this check. The check may run soon after the commit, so the repeated message waits too.
 * @returns when the sweep must check the run again; undefined if nothing is pending
 */
export async function repeatRetention(
  deps: Pick<Deps, 'clock' | 'index' | 'jobs' | 'log'>,
  { head, state }: RunFold,
  extendedBefore: Instant | undefined,
): Promise<Instant | undefined> {
  if (state.deadlineExtension === undefined) return undefined;
  const stored = await deps.log.head(head.address);
  if (stored === undefined || stored.expiresAt >= head.expiresAt) return undefined;
  if (state.deadlineExtension.deadlineAt === extendedBefore) await sendRetention(deps, head, retentionDelay);
  return retentionCheckAt(deps);
}

const retentionCheckAt = ({ clock }: Pick<Deps, 'clock'>): Instant => after(clock.now(), retentionCheckDelay);
