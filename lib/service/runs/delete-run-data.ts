/**
 * Deletes the data of a cancelled or ended run. Removes references and payloads first, and the log and the head last, so that the
 * deletion can be repeated after a crash.
 */
import { applyCommit, emptyState } from '../../engine/log/fold.ts';
import { type Head, isTestRun } from '../../engine/log/head.ts';
import { durationMs } from '../../engine/time.ts';
import { findTestGraph } from '../run-log/test-graph.ts';
import type { Deps } from '../deps.ts';
import { slotJob } from '../commit/job-messages.ts';
import { blobPrefixOf } from '../run-log/payloads.ts';
import { testEndpoint } from './test-workflow.ts';

export async function deleteRunData(deps: Deps, head: Head): Promise<void> {
  const { address: run } = head;
  await releaseSlot(deps, head);
  await deps.blobs.removeAll(run, blobPrefixOf(head));
  const graph = isTestRun(head) ? await findTestGraph(deps, run) : undefined;
  if (graph !== undefined) await deps.reservations.release(run, testEndpoint, graph.startIdempotencyKey, head.commit.nonce);
  await deps.index.deleteDueEntries(run);
  await deps.log.deleteRun(run, head.expiresAt);
}

/** Repeats the message that releases the run's concurrency slot, because the message sent at the run's end may have been lost. */
async function releaseSlot(deps: Deps, head: Head): Promise<void> {
  const state = emptyState();
  applyCommit(state, head.commit);
  if (state.admission !== undefined) await deps.jobs.sendDelayed(slotJob(head, state.admission), durationMs(0));
}
