/** Handles wake-ups: ends a sleep at its time, or times out a wait. */
import { type NodeRef, nodeKey } from '../../engine/ids.ts';
import { type WaitingNode, waitEndsAt } from '../../engine/log/node-state.ts';
import { durationMs } from '../../engine/time.ts';
import type { WakeJob } from '../../ports/jobs.ts';
import { childJob } from '../commit/job-messages.ts';
import { matchWaitOnce, removeWaits } from '../commit/register-waits.ts';
import { recheckDelay, sendJobAt, sendRecheck } from '../commit/schedule-message.ts';
import { type RunFold, readTailBesideSiblings } from '../run-log/read-run-fold.ts';
import type { Continuation, Delivery, JobHandler } from '../worker.ts';
import { admitAttempt, recordingAttemptErrors } from './admit-attempt.ts';
import { recoverAndRecheck } from './recheck-run.ts';

/** An early wake-up is sent again; a stale one changes nothing. */
export async function wakeNode(worker: JobHandler, job: WakeJob, delivery: Delivery): Promise<void> {
  const fold = await worker.foldCache.take(worker.deps, job.run, { minCommit: job.commit, mustBeFresh: delivery.isRedelivered });
  if (fold === undefined) return;
  const node = fold.state.nodes.get(nodeKey(job));
  if (node?.status !== 'waiting' || node.attempt !== job.attempt || isStalePause(node, job)) {
    if (delivery.isRedelivered) await recoverAndRecheck(worker, fold);
  } else if ((waitEndsAt(node) ?? Infinity) > worker.deps.clock.now()) {
    await sendJobAt(worker.deps, waitEndsAt(node) ?? fold.head.deadlineAt, job);
  } else {
    const admission = await admitAttempt(worker, fold, node, { ...delivery, resend: job.resend ?? 0, mayOverlap: true });
    if (admission.kind === 'held_by_another') await sendRecheck(worker.deps, fold.head, recheckDelay);
    else if (admission.kind === 'begins') {
      const { deliveries } = admission;
      const continueRun = await recordingAttemptErrors(
        worker,
        fold,
        node,
        () => wakeAdmitted(worker, fold, node, job),
        deliveries,
      );
      if (continueRun !== undefined) await continueRun(delivery);
      // The put of the crashed worker may have succeeded in between, as in `runChain`.
      else if (delivery.isRedelivered) await recoverAndRecheck(worker, fold);
    }
  }
  worker.foldCache.put(fold);
}

/** @returns undefined if the wake-up changed nothing: another writer ended the wait */
async function wakeAdmitted(
  worker: JobHandler,
  fold: RunFold,
  node: WaitingNode,
  job: WakeJob,
): Promise<Continuation | undefined> {
  if (node.for === 'signal') await matchWaitOnce(worker, fold, node);
  await readTailBesideSiblings(worker.deps, fold, job);
  const ref: NodeRef = { nodeId: job.nodeId, iteration: job.iteration };
  const wakeFact = { kind: 'node-woken', node: ref, attempt: job.attempt } as const;
  const continueRun = await worker.executions[fold.head.kind].endWait(worker, fold, wakeFact);
  if (node.for === 'signal') await removeWaits(worker.deps, job.run, [node]);
  // The wait timed out, so its child run must be cancelled.
  if (node.for === 'child') await worker.deps.jobs.sendDelayed(childJob(fold.head, node, node.childRunId), durationMs(0));
  return continueRun;
}

/** A loop may pause many times, each time with its own wake-up. */
const isStalePause = (node: WaitingNode, job: WakeJob): boolean =>
  node.for === 'iterations' && (node.loop.wakeAt === undefined || node.dispatchedIn !== job.commit);
