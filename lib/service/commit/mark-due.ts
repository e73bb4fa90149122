/** Writes due entries: when the sweep must next check a run. A test run also records its due times, so that all its data can be deleted. */
import { defined } from '../../base/defined.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { type Head, isTestRun, terminalStatuses } from '../../engine/log/head.ts';
import { minuteOf } from '../../engine/log/heartbeat-timeout.ts';
import { type Instant, after, minutes } from '../../engine/time.ts';
import type { Deps } from '../deps.ts';

export { nextCheckOf } from '../../engine/devkit/next-check.ts';

/**
 * Whether a due run needs no check: it has ended, and everything that follows from its end is done, because the head shows the end last
 * (`finalize-run.ts`). After an extension of the deadline, the expiries of the run's items may still have to move.
 */
export const needsNoCheck = ({ projection: { status, hasExtendedDeadline } }: Pick<Head, 'projection'>): boolean =>
  terminalStatuses.some((terminal) => terminal === status) && hasExtendedDeadline !== true;

export const markDue = (deps: Pick<Deps, 'index'>, head: Head, at: Instant): Promise<void> =>
  markRunDue(deps, { address: head.address, isTest: isTestRun(head) }, at);

/** By then a node that a commit dispatched has a heartbeat, or its message was lost. */
export const firstCheckDelay = minutes(2);

/**
 * Marks a run that is about to change: it may sleep until long after the commit, and the sweep would check it only then. Must have
 * succeeded before the commit. If there is no commit, the check finds nothing to do.
 */
export const markDueSoon = (deps: Pick<Deps, 'index' | 'clock'>, head: Head): Promise<void> =>
  markRunDueSoon(deps, { address: head.address, isTest: isTestRun(head) });

/** The same for a run that has not been read. */
export const markRunDueSoon = (deps: Pick<Deps, 'index' | 'clock'>, run: MarkedRun): Promise<void> =>
  markRunDue(deps, run, after(deps.clock.now(), firstCheckDelay));

interface MarkedRun {
  readonly address: RunAddress;
  readonly isTest: boolean;
}

/** Marks a run whose head may not exist yet. */
export const markRunDue = ({ index }: Pick<Deps, 'index'>, { address, isTest }: MarkedRun, at: Instant): Promise<void> =>
  index.markDue(defined({ run: address, minute: minuteOf(at), isRecordedOnRun: isTest ? true : undefined }));
