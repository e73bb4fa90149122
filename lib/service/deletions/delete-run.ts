/**
 * Deletes a run of a workflow that is being deleted. Cancels the run first, so that nothing more is decided, and notifies a calling
 * node of another run. A repeated deletion removes items that a worker wrote after the first one.
 */
import { Unreadable } from '../../codec/unreadable.ts';
import { firstCommit, type RunAddress } from '../../engine/ids.ts';
import { InvariantViolation } from '../../engine/invariant.ts';
import type { Head } from '../../engine/log/head.ts';
import { callerOf } from '../../engine/log/lineage.ts';
import type { Instant } from '../../engine/time.ts';
import { cancelRun } from '../runs/cancel-run.ts';
import type { Decider } from '../decider.ts';
import { deleteRunData } from '../runs/delete-run-data.ts';
import { childJob } from '../commit/job-messages.ts';
import { removeAllWaits } from '../commit/register-waits.ts';
import { recoverRun } from '../execution/recover-run.ts';
import { blobPrefixesOf } from '../run-log/payloads.ts';
import { type RunFold, readCommits, readRunFold } from '../run-log/read-run-fold.ts';
import { notifyChildEnd } from '../execution/reconcile-child.ts';

/** Reason in the cancelled runs and in the runs that called them. */
export const deletionReason = 'its workflow is being deleted';

/**
 * @param expiresAt when the run's tombstone expires, if its head is already deleted
 * @returns the error that prevented the cancellation; undefined if the run was cancelled
 */
export async function deleteRun(decider: Decider, run: RunAddress, expiresAt: Instant): Promise<unknown> {
  const { deps } = decider;
  const head = await deps.log.head(run);
  if (head === undefined) {
    for (const prefix of blobPrefixesOf(run)) await deps.blobs.removeAll(run, prefix);
    await deps.log.deleteRun(run, expiresAt);
    return undefined;
  }
  const error = await catchUnreadable(() => endRun(decider, head));
  await deleteRunData(deps, head);
  return error;
}

async function endRun(decider: Decider, head: Head): Promise<void> {
  const { deps } = decider;
  const run = head.address;
  await cancelRun(decider, run, deletionReason);
  const fold = await readRunFold(deps, run);
  if (fold === undefined) return;
  // Repeats the finalization, because the cancelling process may have died and a redelivered message would find no run.
  await recoverRun(decider, fold);
  await removeAllWaits(deps, run, [head.commit, ...(await readCommits(deps, fold, firstCommit))]);
  await notifyCaller(decider, fold);
}

/**
 * Catches the errors of a run whose stored data cannot be read. A retry would fail the same way and delay the deletion of other runs.
 * @returns the error
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

/** Notifies the caller directly: when a message arrived, the log with the run's result would be deleted. */
async function notifyCaller(decider: Decider, { head }: RunFold): Promise<void> {
  const caller = callerOf(head);
  if (caller === undefined) return;
  const callerFold = await readRunFold(decider.deps, { ...head.address, runId: caller.runId });
  if (callerFold !== undefined) await notifyChildEnd(decider, callerFold, childJob(callerFold.head, caller, head.address.runId));
}
