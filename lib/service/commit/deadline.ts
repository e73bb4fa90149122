/**
 * Ends a run at its deadline, by the clock of the worker that knows of it. A run that waits has no worker: the sweep looks at it
 * some minutes before, and leaves a delayed recheck for the deadline itself, as the sweep is precise to minutes alone.
 */
import { isTerminal } from '../../engine/log/fold.ts';
import type { Head } from '../../engine/log/head.ts';
import { type DurationMs, between, durationMs, minutes } from '../../engine/time.ts';
import type { Decider } from './decide-run.ts';
import type { Deps } from '../deps.ts';
import { sendRecheck } from './schedule-message.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { notifyRun } from './notify-run.ts';

interface WithDeadline {
  readonly head: Pick<Head, 'deadlineAt'>;
}

export const isPastDeadline = ({ clock }: Pick<Deps, 'clock'>, { head }: WithDeadline): boolean => clock.now() >= head.deadlineAt;

/** How long a worker sleeps until it next reads the log beside an attempt: not beyond the run's deadline. */
export function untilNextCheck({ clock }: Pick<Deps, 'clock'>, { head }: WithDeadline, maxMs: number): DurationMs {
  const untilDeadline = between(clock.now(), head.deadlineAt);
  return durationMs(untilDeadline > 0 ? Math.min(maxMs, untilDeadline) : maxMs);
}

/** Ends the run where its deadline has passed, or begins its rollback. The fold must be fresh. */
export async function enforceDeadline(decider: Decider, fold: RunFold): Promise<void> {
  if (!isTerminal(fold.state.progress) && isPastDeadline(decider.deps, fold))
    await notifyRun(decider, fold, [{ kind: 'deadline-passed' }]);
}

/** The sweep's look before a deadline comes no later than two minutes before it (`nextCheck`); each look within this leaves a recheck. */
export const sweepSchedulesRecheckWithin: DurationMs = minutes(6);
/** A start leaves it where the sweep's first look, two to four minutes later, may be too late to. A queue delays by 15 minutes at most. */
export const startSchedulesRecheckWithin: DurationMs = minutes(10);

export async function scheduleDeadlineRecheck(
  deps: Pick<Deps, 'clock' | 'jobs'>,
  head: Pick<Head, 'address' | 'trace' | 'deadlineAt'>,
  within: DurationMs,
): Promise<void> {
  const remaining = between(deps.clock.now(), head.deadlineAt);
  if (remaining > 0 && remaining <= within) await sendRecheck(deps, head, remaining);
}
