/**
 * Ends a run at its deadline, by the clock of the worker that processes it. A waiting run has no worker. The sweep checks it a few
 * minutes before the deadline and sends a delayed recheck for the exact time, because the sweep is precise only to minutes.
 */
import { isTerminal } from '../../engine/log/fold.ts';
import type { Head } from '../../engine/log/head.ts';
import { type DurationMs, between, durationMs, minutes } from '../../engine/time.ts';
import type { Decider } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { sendRecheck } from './schedule-message.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { notifyRun } from './commit-facts.ts';

interface WithDeadline {
  readonly head: Pick<Head, 'deadlineAt'>;
}

export const isPastDeadline = ({ clock }: Pick<Deps, 'clock'>, { head }: WithDeadline): boolean => clock.now() >= head.deadlineAt;

/** How long a worker waits before it next reads the log during an attempt: at most `maxMs`, and not past the run's deadline. */
export function untilNextCheck({ clock }: Pick<Deps, 'clock'>, { head }: WithDeadline, maxMs: number): DurationMs {
  const untilDeadline = between(clock.now(), head.deadlineAt);
  return durationMs(untilDeadline > 0 ? Math.min(maxMs, untilDeadline) : maxMs);
}

/** Ends the run, or begins its rollback, if its deadline has passed. The fold must be fresh. */
export async function enforceDeadline(decider: Decider, fold: RunFold): Promise<void> {
  if (!isTerminal(fold.state.progress) && isPastDeadline(decider.deps, fold))
    await notifyRun(decider, fold, [{ kind: 'deadline-passed' }]);
}

/** The sweep checks a run at least two minutes before its deadline (`nextCheck`). A check within this time sends a recheck. */
export const sweepSchedulesRecheckWithin: DurationMs = minutes(6);
/** A start sends the recheck when the sweep's first check, 2 to 4 minutes later, may come too late. A queue delays at most 15 minutes. */
export const startSchedulesRecheckWithin: DurationMs = minutes(10);

export async function scheduleDeadlineRecheck(
  deps: Pick<Deps, 'clock' | 'jobs'>,
  head: Pick<Head, 'address' | 'trace' | 'deadlineAt'>,
  within: DurationMs,
): Promise<void> {
  const remaining = between(deps.clock.now(), head.deadlineAt);
  if (remaining > 0 && remaining <= within) await sendRecheck(deps, head, remaining);
}
