/**
 * Commits facts for a caller that has no message in flight, such as an API request. If the process dies after the commit, no message
 * would be redelivered. So a delayed recheck and a due time are written before the commit.
 */
import { isTerminal } from '../../engine/log/fold.ts';
import { type TerminalStatus, isTestRun } from '../../engine/log/head.ts';
import { after, minutes } from '../../engine/time.ts';
import type { Decider } from '../decider.ts';
import type { JobOrigin } from './job-messages.ts';
import { recheckDelay, sendRecheck } from './schedule-message.ts';
import { markRunDue } from './mark-due.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** By then a node that the commit dispatched has a heartbeat, or its message was lost. */
export const firstCheckDelay = minutes(2);

/** @param decide commits the facts */
export async function commitWithRecheck<Result>(decider: Decider, fold: RunFold, decide: () => Promise<Result>): Promise<Result> {
  await requestRecheck(decider, fold);
  return decide();
}

/** Must have succeeded before the commit. If there is no commit, the check finds nothing to do. */
export async function requestRecheck({ deps }: Pick<Decider, 'deps'>, fold: Pick<RunFold, 'head'>): Promise<void> {
  await requestRecheckOf({ deps }, fold.head, isTestRun(fold.head));
}

/** The same for a run that has not been read. */
export async function requestRecheckOf({ deps }: Pick<Decider, 'deps'>, origin: JobOrigin, isTest: boolean): Promise<void> {
  await Promise.all([
    sendRecheck(deps, origin, recheckDelay),
    // The run may sleep until long after this commit, and the sweep would check it only then.
    markRunDue(deps, { address: origin.address, isTest }, after(deps.clock.now(), firstCheckDelay)),
  ]);
}

/** The run's terminal status in the fold; undefined while it is open. */
export const endStatusOf = ({ state: { progress } }: RunFold): TerminalStatus | undefined =>
  isTerminal(progress) ? progress.status : undefined;
