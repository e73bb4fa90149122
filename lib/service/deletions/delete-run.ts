/**
 * Deletes a run of a workflow that is being deleted. It is cancelled first, so that nothing more is decided, and a node of another run
 * that waits for it hears how it ended. Done again, it deletes what a worker wrote that was still at work.
 */
import { Unreadable } from '../../codec/unreadable.ts';
import { firstCommit, type RunAddress } from '../../engine/ids.ts';
import { InvariantViolation } from '../../engine/invariant.ts';
import type { Head } from '../../engine/log/head.ts';
import { callerOf } from '../../engine/log/lineage.ts';
import type { Instant } from '../../engine/time.ts';
import { cancelRun } from '../runs/cancel-run.ts';
import type { Decider } from '../commit/decide-run.ts';
import { deleteRunData } from '../runs/delete-run-data.ts';
import { childJob } from '../commit/job-messages.ts';
import { removeAllWaits } from '../commit/register-waits.ts';
import { recoverRun } from '../execution/recover-run.ts';
import { blobPrefixesOf } from '../run-log/payloads.ts';
import { type RunFold, readCommits, readRunFold } from '../run-log/read-run-fold.ts';
import { notifyChildEnd } from '../execution/reconcile-child.ts';

/** As the cancelled runs and those who called them say it. */
export const deletionReason = 'its workflow is being deleted';

/**
 * @param expiresAt when what is left in the place of the run expires, where its head is gone already
 * @returns why it could not be ended before it was deleted
 */
export async function deleteRun(decider: Decider, run: RunAddress, expiresAt: Instant): Promise<unknown> {
  const { deps } = decider;
  const head = await deps.log.head(run);
  if (head === undefined) {
    for (const prefix of blobPrefixesOf(run)) await deps.blobs.removeAll(run, prefix);
    await deps.log.deleteRun(run, expiresAt);
    return undefined;
  }
  const broken = await catchUnreadable(() => endRun(decider, head));
  await deleteRunData(deps, head);
  return broken;
}

async function endRun(decider: Decider, head: Head): Promise<void> {
  const { deps } = decider;
  const run = head.address;
  await cancelRun(decider, run, deletionReason);
  const fold = await readRunFold(deps, run);
  if (fold === undefined) return;
  // Once more, where the process that cancelled it died before: a message that repeats it would find no run.
  await recoverRun(decider, fold);
  await removeAllWaits(deps, run, [head.commit, ...(await readCommits(deps, fold, firstCommit))]);
  await notifyCaller(decider, fold);
}

/**
 * A run whose record makes no sense, whatever made it so, must not hold up the deletion of the others: it is as broken the next time.
 * @returns what is wrong with it
 */
export async function catchUnreadable(act: () => Promise<unknown>): Promise<unknown> {
  try {
    await act();
    return undefined;
  } catch (error) {
    if (error instanceof Unreadable || error instanceof InvariantViolation) return error;
    throw error;
  }
}

/** Here and not by a message: when that arrived, the log would be gone that says how the run ended. */
async function notifyCaller(decider: Decider, { head }: RunFold): Promise<void> {
  const caller = callerOf(head);
  if (caller === undefined) return;
  const callerFold = await readRunFold(decider.deps, { ...head.address, runId: caller.runId });
  if (callerFold !== undefined) await notifyChildEnd(decider, callerFold, childJob(callerFold.head, caller, head.address.runId));
}
