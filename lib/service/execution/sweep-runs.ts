/**
 * The sweep: scheduled recovery of stale runs. It checks each run that is due: redispatches nodes whose heartbeat timed out, repeats
 * finalization, ends runs past their deadline, and writes the next due time. Only then does it record the minute as swept. Overlapping
 * sweeps are harmless.
 */
import { defined } from '../../base/defined.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { attentionOf } from '../../engine/log/open-nodes.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import { minuteOf } from '../../engine/log/heartbeat-timeout.ts';
import { callerOf } from '../../engine/log/lineage.ts';
import { type Instant, durationMs, instant, minutes } from '../../engine/time.ts';
import type { DueRun } from '../../ports/run-index.ts';
import { scheduleDeadlineRecheck, enforceDeadline, sweepSchedulesRecheckWithin } from '../commit/deadline.ts';
import type { Decider } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { childJob } from '../commit/job-messages.ts';
import { repeatRetention } from '../commit/schedule-retention.ts';
import { markDue, needsNoCheck, nextCheckOf } from '../commit/mark-due.ts';
import { recoverRun } from './recover-run.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';
import { notifyRun } from '../commit/commit-facts.ts';
import { notifyStartAgain } from '../commit/notify-status.ts';
import { commitsFoundInThreeReads } from '../run-log/find-newest-commits.ts';

export interface SweepResult extends Checked {
  readonly minutes: number;
}

/** The checks of due runs. */
interface Checked {
  readonly checked: number;
  readonly recovered: number;
  /** runs whose check failed; they are due again in the next minute */
  readonly failed: readonly { readonly run: RunAddress; readonly error: unknown }[];
}

/** Minutes that the first sweep covers if the start of sweeping was not recorded (`begin-sweeping.ts`). */
const firstSweepMinutes = 10;

/**
 * Minutes until the second check of a due run that does not exist. The starting function writes the due entry before the head, and may be
 * suspended in between for as long as its time limit of 15 minutes.
 */
export const secondCheckMinutes = 20;

/** Number of heads that are in memory at once. The run log reads them in one request. */
const headsPerRead = 100;
/** A check is a few reads, and most checks find nothing to do. */
const maxConcurrentChecks = 16;

/** @param mustEndAt the sweep starts no further minute after this time */
export async function sweepRuns(decider: Decider, mustEndAt: Instant): Promise<SweepResult> {
  const { deps } = decider;
  const last = minuteOf(deps.clock.now()) - 1;
  const sweptMinute = (await deps.index.sweptMinute()) ?? last - firstSweepMinutes;
  let swept: SweepResult = { minutes: 0, checked: 0, recovered: 0, failed: [] };
  for (let minute = sweptMinute + 1; minute <= last && deps.clock.now() < mustEndAt; minute += 1) {
    // Behind, after an outage or a jump of the clock: the minutes without due runs are skipped.
    if (minute < last) minute = (await deps.index.firstDueMinute(minute, last)) ?? last;
    const { checked, recovered, failed } = await sweepMinute(decider, minute);
    await deps.index.recordSweptMinute(minute);
    swept = {
      minutes: swept.minutes + 1,
      checked: swept.checked + checked,
      recovered: swept.recovered + recovered,
      failed: [...swept.failed, ...failed],
    };
  }
  return swept;
}

/** Checks the runs that are due in the minute. Most have ended by then. Their heads say so, and nothing else of them is read. */
export async function sweepMinute(decider: Decider, minute: number): Promise<Checked> {
  const due = await decider.deps.index.dueIn(minute);
  const checks: Check[] = [];
  for (let first = 0; first < due.length; first += headsPerRead) {
    const found = await findRuns(decider.deps, due.slice(first, first + headsPerRead));
    const unsettled = found.filter(({ state }) => state !== 'settled');
    for (let next = 0; next < unsettled.length; next += maxConcurrentChecks) {
      const runs = unsettled.slice(next, next + maxConcurrentChecks);
      checks.push(...(await Promise.all(runs.map((run) => checkRun(decider, run, minute)))));
    }
  }
  const failed = checks.flatMap((check) => (check.kind === 'failed' ? [{ run: check.run, error: check.error }] : []));
  return {
    checked: due.length - failed.length,
    recovered: checks.filter(({ kind }) => kind === 'recovered').length,
    failed,
  };
}

interface FoundRun {
  readonly run: DueRun;
  /** `unknown`: it is open, or its head could not be read with the others */
  readonly state: 'missing' | 'settled' | 'unknown';
}

type Check =
  | { readonly kind: 'recovered' | 'unchanged' }
  | { readonly kind: 'failed'; readonly run: RunAddress; readonly error: unknown };

async function findRuns({ log }: Pick<Deps, 'log'>, due: readonly DueRun[]): Promise<readonly FoundRun[]> {
  // Most are graph runs. The heads of others are read in the same request, and their projections in a second one.
  for (const run of due) log.guess(run, 'graph');
  try {
    const heads = await log.heads(due);
    return due.map((run, index) => {
      const head = heads[index];
      return { run, state: head === undefined ? 'missing' : needsNoCheck(head) ? 'settled' : 'unknown' };
    });
  } catch {
    // Each run is then read by itself, so that one head that cannot be read stops no other check.
    return due.map((run) => ({ run, state: 'unknown' }));
  }
}

async function checkRun(decider: Decider, { run, state }: FoundRun, minute: number): Promise<Check> {
  const { deps } = decider;
  try {
    const isRecovered = state === 'missing' ? await checkAgainLater(deps, run, minute) : await sweepRun(decider, run, minute);
    return { kind: isRecovered ? 'recovered' : 'unchanged' };
  } catch (error) {
    // One failed check must not block the others. The run is checked again in the next minute.
    // It may be a test run, which records its due times. The minute must be after the swept one, even if the clock went back.
    const { isSecondCheck: _which, ...address } = run;
    await deps.index.markDue({ run: address, minute: Math.max(minuteOf(deps.clock.now()), minute) + 1, isRecordedOnRun: true });
    return { kind: 'failed', run, error };
  }
}

/** The due entry precedes the head: the start crashed in between, or is still in progress. */
async function checkAgainLater(
  { clock, index }: Pick<Deps, 'clock' | 'index'>,
  { isSecondCheck, ...run }: DueRun,
  minute: number,
): Promise<false> {
  const secondCheckMinute = Math.max(minuteOf(clock.now()), minute) + secondCheckMinutes;
  if (isSecondCheck !== true) await index.markDue({ run, minute: secondCheckMinute, isSecondCheck: true });
  return false;
}

/**
 * Checks one run. @returns whether it redispatched anything
 * @param minute the minute being swept. No sweep reads a due time at or before it, and the clock may have gone back.
 */
export async function sweepRun(decider: Decider, run: DueRun, minute = 0): Promise<boolean> {
  const { deps } = decider;
  const fold = await readRunFold(deps, run);
  if (fold === undefined) return checkAgainLater(deps, run, minute);
  const wasTerminal = isTerminal(fold.state.progress);
  const extendedBefore = fold.state.deadlineExtension?.deadlineAt;
  if (!wasTerminal) {
    await enforceDeadline(decider, fold);
    await requestChildCheck(deps, fold);
  }
  const { resent, checkAt: recoveredCheckAt } = await recoverRun(decider, fold);
  const retentionCheckAt = await repeatRetention(deps, fold, extendedBefore);
  if (wasTerminal) {
    if (retentionCheckAt !== undefined) await markDue(deps, fold.head, retentionCheckAt);
    return false;
  }
  if (resent.length > 0) await notifyRun(decider, fold, [{ kind: 'recovered', nodes: resent }]);
  if (isTerminal(fold.state.progress)) return resent.length > 0;
  await scheduleDeadlineRecheck(deps, fold.head, sweepSchedulesRecheckWithin);
  const now = deps.clock.now();
  const checkAt = recoveredCheckAt ?? nextCheckOf(fold.state, fold.head.deadlineAt, now);
  const next = Math.max(minuteOf(instant(Math.min(checkAt, retentionCheckAt ?? checkAt))), minuteOf(now) + 1, minute + 1);
  await markDue(deps, fold.head, instant(minutes(next)));
  await updateAttention(deps, fold, now, await notifyStartAgain(deps, fold));
  return resent.length > 0;
}

/** A child run is cancelled when its caller no longer waits for it. The job for that may have been lost, so it is sent again. */
async function requestChildCheck({ jobs }: Pick<Deps, 'jobs'>, { head }: RunFold): Promise<void> {
  const caller = callerOf(head);
  if (caller === undefined || caller.parentClosePolicy === 'abandon') return;
  const callerOrigin = { ...head, address: { ...head.address, runId: caller.runId } };
  await jobs.sendDelayed(childJob(callerOrigin, caller, head.address.runId), durationMs(0));
}

/**
 * Writes the head's projection where the run's list state changed, or where the head is so far behind the log that every list would
 * need more than three reads to find the newest commit. Only the sweep writes it before the end, so a short run never pays for it.
 */
async function updateAttention(
  { log }: Pick<Deps, 'log'>,
  { head, state }: RunFold,
  now: Instant,
  hasNotified: boolean,
): Promise<void> {
  const { projection } = head;
  const attention = attentionOf(state, now);
  const isUnchanged = attention === projection.attention && !hasNotified;
  if (state.asOf === 0 || (isUnchanged && state.asOf - projection.asOf <= commitsFoundInThreeReads)) return;
  const { status } = state.progress;
  await log.project(head.address, defined({ status, asOf: state.asOf, attention }), head.expiresAt);
}
