/**
 * Deletes what a cancelled or ended run wrote. First goes what others find it by and what only it leads to; its log and its head go
 * last, so a process that dies in between leaves a run that can be deleted again.
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

/** The slot was released when the run ended; this repeats a message that may have been lost, while the run is still known. */
async function releaseSlot(deps: Deps, head: Head): Promise<void> {
  const state = emptyState();
  applyCommit(state, head.commit);
  if (state.admission !== undefined) await deps.jobs.sendDelayed(slotJob(head, state.admission), durationMs(0));
}
