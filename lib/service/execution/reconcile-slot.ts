/**
 * Reconciles a run with the concurrency slots of its workflow. An open run takes a slot, or waits for one. An ended run releases its
 * slot, and the first waiting runs are woken. Any process may request this, any number of times: the run's log records at most one
 * slot, and slots are taken and released by conditional writes. (docs/decisions/concurrency-slots.md)
 */
import { type RunAddress, type RunId, type Scope } from '../../engine/ids.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import { terminalStatuses } from '../../engine/log/head.ts';
import {
  type SlotPoolKey,
  type TakenSlot,
  type WaitingRun,
  byAdmissionOrder,
  assignSlots,
} from '../../engine/concurrency-slots.ts';
import { durationMs } from '../../engine/time.ts';
import type { SlotJob } from '../../ports/jobs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { notifyRun } from '../commit/commit-facts.ts';
import { type Decider, kindOf } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { sendJobAt } from '../commit/schedule-message.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';

/** Waiting runs read at once. The others are woken after these have their slots. */
export const maxNotifiedRuns = 25;
/** Rounds in which other runs may take every slot that was free, before the job is left to redelivery. */
const maxChecks = 10;

export async function reconcileSlot(decider: Decider, job: SlotJob): Promise<void> {
  const { deps } = decider;
  const fold = await readRunFold(deps, job.run);
  if (fold === undefined || isTerminal(fold.state.progress)) return releaseSlots(deps, job);
  const { admission } = fold.state;
  if (admission === undefined || !kindOf(decider, fold.head).hasSlots) return;
  if (admission.slot !== undefined) return releaseSlots(deps, job, admission.slot);
  if (admission.notBefore !== undefined && admission.notBefore > deps.clock.now())
    return sendJobAt(deps, admission.notBefore, job);
  const { runId } = job.run;
  await acquireSlot(decider, fold, job, { runId, since: admission.since, slots: admission.slots });
}

const slotPoolOf = ({ run: { projectId, environment }, workflowName }: SlotJob): SlotPoolKey => ({
  projectId,
  environment,
  workflowName,
});

/** Releases all slots of the run except `keptSlot`, and its queue entry. Then it wakes waiting runs. */
async function releaseSlots(deps: Deps, job: SlotJob, keptSlot?: number): Promise<void> {
  const pool = slotPoolOf(job);
  const { runId } = job.run;
  for (const { slot } of slotsOfRun(await deps.concurrencySlots.taken(pool), runId)) {
    if (slot !== keptSlot) await deps.concurrencySlots.release(pool, slot, runId);
  }
  await deps.concurrencySlots.dequeue(pool, { runId, since: job.since });
  // Read after the release: a run that is enqueued later sees the free slot itself.
  const waiting = await deps.concurrencySlots.waiting(pool, maxNotifiedRuns);
  if (waiting.length > 0)
    await wakeWaitingRuns(deps, job, waiting, assignSlots(await deps.concurrencySlots.taken(pool), waiting));
}

const slotsOfRun = (taken: readonly TakenSlot[], runId: RunId): readonly TakenSlot[] =>
  taken.filter((each) => each.runId === runId);

/** A run enqueues first and reads slots second. A release frees the slot first and reads the queue second. So one always sees the other. */
async function acquireSlot(decider: Decider, fold: RunFold, job: SlotJob, waitingRun: WaitingRun): Promise<void> {
  const { deps } = decider;
  const pool = slotPoolOf(job);
  let isEntered = false;
  let hasChecked = job.isCheck !== true;
  for (let round = 1; round <= maxChecks; round += 1) {
    const taken = await deps.concurrencySlots.taken(pool);
    const [heldSlot] = slotsOfRun(taken, waitingRun.runId);
    if (heldSlot !== undefined) return admitRun(decider, fold, job, { slot: heldSlot.slot, isListed: true });
    const isFull = countFreeSlots(taken, waitingRun) === 0;
    const waiting = isFull && hasChecked ? [] : await deps.concurrencySlots.waiting(pool, maxNotifiedRuns);
    const isListed = isEntered || waiting.some(({ runId }) => runId === waitingRun.runId);
    const assignments = assignSlots(taken, isListed ? waiting : [...waiting, waitingRun]);
    const assignedSlot = assignments.get(waitingRun.runId);
    if (assignedSlot !== undefined) {
      if (await deps.concurrencySlots.acquire(pool, assignedSlot, waitingRun.runId, fold.head.expiresAt)) {
        return admitRun(decider, fold, job, { slot: assignedSlot, isListed });
      }
    } else if (!isEntered) {
      await deps.concurrencySlots.enqueue(pool, waitingRun, fold.head.expiresAt);
      isEntered = true;
    } else if (!hasChecked && isFull && waiting[0]?.runId === waitingRun.runId) {
      hasChecked = true;
      await releaseSlotsOfEndedRuns(deps, pool, taken);
    } else {
      const earlier = waiting.filter((each) => byAdmissionOrder(each, waitingRun) < 0);
      return wakeWaitingRuns(deps, job, earlier, assignments);
    }
  }
  throw new Unavailable(`a free concurrency slot of workflow ${job.workflowName}`);
}

const countFreeSlots = (taken: readonly TakenSlot[], { slots }: WaitingRun): number =>
  slots - taken.filter(({ slot }) => slot < slots).length;

/** Commits the slot. The log decides: another worker may have assigned another slot, or the run may have ended. */
async function admitRun(
  decider: Decider,
  fold: RunFold,
  job: SlotJob,
  { slot, isListed }: { readonly slot: number; readonly isListed: boolean },
): Promise<void> {
  await notifyRun(decider, fold, [{ kind: 'slot-taken', slot }]);
  const { progress, admission } = fold.state;
  if (admission?.slot === slot && !isListed) return;
  await releaseSlots(decider.deps, job, isTerminal(progress) ? undefined : admission?.slot);
}

/** Releases slots of ended or deleted runs whose own messages were lost. Only the first waiting run does this, at each sweep. */
async function releaseSlotsOfEndedRuns(deps: Deps, pool: SlotPoolKey, taken: readonly TakenSlot[]): Promise<void> {
  for (const { slot, runId } of taken) {
    const head = await deps.log.head(addressOf(pool, runId));
    const hasEnded = head === undefined || terminalStatuses.some((status) => status === head.projection.status);
    if (hasEnded) await deps.concurrencySlots.release(pool, slot, runId);
  }
}

const addressOf = ({ projectId, environment }: Scope, runId: RunId): RunAddress => ({ projectId, environment, runId });

/** Sends a slot job to each waiting run that can have a slot. Only a run's own job takes a slot for it. */
async function wakeWaitingRuns(
  deps: Deps,
  job: SlotJob,
  waiting: readonly WaitingRun[],
  assignments: ReadonlyMap<RunId, number>,
): Promise<void> {
  for (const { runId, since } of waiting) {
    if (!assignments.has(runId)) continue;
    const { workflowName } = job;
    await deps.jobs.sendDelayed({ kind: 'slot', run: addressOf(job.run, runId), workflowName, since }, durationMs(0));
  }
}
