/**
 * The sweep: looks at each run whose minute has passed, sends again what is silent, redoes last duties, ends what is past
 * its deadline, and writes when to look next, before the minute counts as passed. Overlapping sweeps are harmless.
 */
import type { RunAddress } from '../engine/ids.ts';
import { attentionOf } from '../engine/log/attention.ts';
import { isTerminal } from '../engine/log/fold.ts';
import { minuteOf, nextLook } from '../engine/log/silence.ts';
import { callerOf } from '../engine/log/lineage.ts';
import { type Instant, durationMs, instant, minutes } from '../engine/time.ts';
import type { DueRun } from '../ports/run-index.ts';
import { leaveDeadlineRecheck, passDeadline, sweepLeavesRecheckWithin } from './deadline.ts';
import type { Decider } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { childJob } from './jobs-of.ts';
import { markDue } from './mark-due.ts';
import { mendRun } from './mend-run.ts';
import { type RunFold, readRun } from './read-log.ts';
import { tellRun } from './tell-run.ts';
import { tellStartAgain } from './tell-start.ts';

export interface Swept {
  readonly minutes: number;
  readonly looked: number;
  readonly mended: number;
  /** runs that could not be looked at this time; their minute is not passed, and the next sweep comes again */
  readonly failed: readonly { readonly run: RunAddress; readonly trouble: unknown }[];
}

/** Minutes that the first sweep looks back where nobody has noted where sweeping begins (`begin-sweeping.ts`). */
const firstReach = 10;

/**
 * When a run that was to be looked at and is not there is looked for once more, in minutes: its head is written behind the mark,
 * and whoever writes it may stand still between the two for as long as a function lives, fifteen minutes.
 */
const untilSecondLook = 20;

/** Runs looked at side by side: a look is a few reads, and most find nothing to do. */
const atOnce = 16;

interface Counts {
  minutes: number;
  looked: number;
  mended: number;
  readonly failed: { readonly run: RunAddress; readonly trouble: unknown }[];
}

/** @param mustEndAt no further minute is begun after it */
export async function recoverRuns(decider: Decider, mustEndAt: Instant): Promise<Swept> {
  const { deps } = decider;
  const last = minuteOf(deps.clock.now()) - 1;
  const passed = (await deps.index.sweptMinute()) ?? last - firstReach;
  const swept: Counts = { minutes: 0, looked: 0, mended: 0, failed: [] };
  for (let minute = passed + 1; minute <= last && deps.clock.now() < mustEndAt; minute += 1) {
    const due = await deps.index.dueIn(minute);
    for (let first = 0; first < due.length; first += atOnce) {
      await Promise.all(due.slice(first, first + atOnce).map((run) => look(decider, run, minute, swept)));
    }
    await deps.index.passMinute(minute);
    swept.minutes += 1;
  }
  return swept;
}

async function look(decider: Decider, run: DueRun, minute: number, swept: Counts): Promise<void> {
  const { deps } = decider;
  try {
    if (await recoverRun(decider, run, minute)) swept.mended += 1;
    swept.looked += 1;
  } catch (trouble) {
    // One run that cannot be looked at must not hold up the others; it is looked at again in the next minute.
    swept.failed.push({ run, trouble });
    // It may be a test run, which notes its entries. Behind the minute that is swept, whatever the clock says by now.
    const { isSecondLook: _which, ...address } = run;
    await deps.index.markDue({ run: address, minute: Math.max(minuteOf(deps.clock.now()), minute) + 1, isNoted: true });
  }
}

/**
 * Looks at one run; true where something of it was mended.
 * @param minute that is swept: what is written into it, or before it, nobody looks at any more, and a clock may have gone back
 */
export async function recoverRun(decider: Decider, { isSecondLook, ...run }: DueRun, minute = 0): Promise<boolean> {
  const { deps } = decider;
  const fold = await readRun(deps, run);
  // Marked before its head was written, and the start died between, or is still on its way.
  if (fold === undefined) {
    const again = Math.max(minuteOf(deps.clock.now()), minute) + untilSecondLook;
    if (isSecondLook !== true) await deps.index.markDue({ run, minute: again, isSecondLook: true });
    return false;
  }
  const wasTerminal = isTerminal(fold.state.progress);
  if (!wasTerminal) {
    await passDeadline(decider, fold);
    await askCaller(deps, fold);
  }
  const { resent } = await mendRun(decider, fold);
  if (wasTerminal) return false;
  if (resent.length > 0) await tellRun(decider, fold, [{ kind: 'recovered', nodes: resent }]);
  if (isTerminal(fold.state.progress)) return resent.length > 0;
  await leaveDeadlineRecheck(deps, fold.head, sweepLeavesRecheckWithin);
  const now = deps.clock.now();
  const next = Math.max(minuteOf(nextLook(fold.state, fold.head.deadlineAt, now)), minuteOf(now) + 1, minute + 1);
  await markDue(deps, fold.head, instant(minutes(next)));
  await showAttention(deps, fold, now, await tellStartAgain(deps, fold));
  return resent.length > 0;
}

/** A run that was called is ended where nobody waits for it any more, and the word of that may have been lost. */
async function askCaller({ jobs }: Pick<Deps, 'jobs'>, { head }: RunFold): Promise<void> {
  const caller = callerOf(head);
  if (caller === undefined || caller.whenLeft === 'go_on') return;
  const above = { ...head, address: { ...head.address, runId: caller.runId } };
  await jobs.sendLater(childJob(above, caller, head.address.runId), durationMs(0));
}

/** Makes a run that waits or retries findable as such. Only here, so that a short run never pays for it. */
async function showAttention(
  { log }: Pick<Deps, 'log'>,
  { head, state }: RunFold,
  now: Instant,
  hasTold: boolean,
): Promise<void> {
  const attention = attentionOf(state, now);
  if ((attention === head.projection.attention && !hasTold) || state.asOf === 0) return;
  const { status } = state.progress;
  await log.project(head.address, { status, asOf: state.asOf, ...(attention === undefined ? {} : { attention }) });
}
