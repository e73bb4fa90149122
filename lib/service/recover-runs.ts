/**
 * The sweep: looks at each run whose minute has passed, sends again what is silent, redoes last duties, ends what is past
 * its deadline, and writes when to look next, before the minute counts as passed. Overlapping sweeps are harmless.
 */
import type { RunAddress } from '../engine/ids.ts';
import { isTerminal } from '../engine/log/fold.ts';
import { minuteOf, nextLook } from '../engine/log/silence.ts';
import { type Instant } from '../engine/time.ts';
import { type Decider, decideRun } from './decide-run.ts';
import { mendRun } from './mend-run.ts';
import { readRun } from './read-log.ts';

export interface Swept {
  readonly minutes: number;
  readonly looked: number;
  readonly mended: number;
  /** runs that could not be looked at this time; their minute is not passed, and the next sweep comes again */
  readonly failed: readonly { readonly run: RunAddress; readonly trouble: unknown }[];
}

/** Minutes that the first sweep of a new installation looks back. */
const firstReach = 10;

/** @param mustEndAt no further minute is begun after it */
export async function recoverRuns(decider: Decider, mustEndAt: Instant): Promise<Swept> {
  const { deps } = decider;
  const last = minuteOf(deps.clock.now()) - 1;
  const passed = (await deps.index.sweptMinute()) ?? last - firstReach;
  const swept = { minutes: 0, looked: 0, mended: 0, failed: [] as { run: RunAddress; trouble: unknown }[] };
  for (let minute = passed + 1; minute <= last && deps.clock.now() < mustEndAt; minute += 1) {
    for (const run of await deps.index.dueIn(minute)) {
      try {
        if (await recoverRun(decider, run)) swept.mended += 1;
        swept.looked += 1;
      } catch (trouble) {
        // One run that cannot be looked at must not hold up the others; it is looked at again in the next minute.
        swept.failed.push({ run, trouble });
        await deps.index.markDue({ run, minute: minuteOf(deps.clock.now()) + 1 });
      }
    }
    await deps.index.passMinute(minute);
    swept.minutes += 1;
  }
  return swept;
}

/** Looks at one run; true where something of it was mended. */
export async function recoverRun(decider: Decider, run: RunAddress): Promise<boolean> {
  const { deps } = decider;
  const fold = await readRun(deps, run);
  // Marked before its head was written, and the start died between: there is nothing to look at.
  if (fold === undefined) return false;
  const wasTerminal = isTerminal(fold.state.progress);
  const { resent } = await mendRun(deps, fold);
  if (wasTerminal) return false;
  if (resent.length > 0 || deps.clock.now() >= fold.head.deadlineAt) {
    const plan = await decider.plans.of(deps, run, fold.head.workflow);
    await decideRun(decider, fold, plan, [{ kind: 'recovered', nodes: resent }, { kind: 'deadline-passed' }]);
  }
  if (isTerminal(fold.state.progress)) return resent.length > 0;
  const now = deps.clock.now();
  const next = Math.max(minuteOf(nextLook(fold.state, fold.head.deadlineAt, now)), minuteOf(now) + 1);
  await deps.index.markDue({ run, minute: next });
  return resent.length > 0;
}
