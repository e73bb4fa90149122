/** Passes a job to the use case of its kind. */
import { invariant, unreachable } from '../../engine/invariant.ts';
import type { RunEnd } from '../../engine/log/fold.ts';
import { firstProjection } from '../../engine/log/head.ts';
import type { Job, JobCall } from '../../ports/jobs.ts';
import { fromFirstCommit, unwrittenFold } from '../run-log/read-run-fold.ts';
import { withCallsInPlace } from './calls-in-place.ts';
import { extendRetention } from './extend-retention.ts';
import { recheckRun } from './recheck-run.ts';
import { wakeNode } from './wake-node.ts';
import { handleSignalJob, handleWaitsJob } from '../runs/handle-signal-job.ts';
import { reconcileChild } from './reconcile-child.ts';
import { reconcileSlot } from './reconcile-slot.ts';
import type { Delivery, JobHandler } from '../worker.ts';

/**
 * Handles a job that a start calls this worker with, in place of a queue. The fold begins with what the start has just written, or leaves
 * to this worker to write, so the worker reads nothing: if another process has committed since, the first put shows it.
 * @returns the end of the run, if it has ended
 */
export async function handleCalledJob(
  worker: JobHandler,
  { job, run, isUnwritten }: JobCall,
  delivery: Delivery,
): Promise<RunEnd | undefined> {
  if (run !== undefined) worker.deps.log.recognize(run);
  if (isUnwritten === true) {
    invariant(run !== undefined && job.kind === 'node', 'a call with an unwritten run has its creation and a node job');
    const fold = unwrittenFold({ ...run, projection: firstProjection });
    await withCallsInPlace(worker, job, delivery, (handler) => handler.executions.graph.begin(handler, fold, job, delivery));
  } else {
    if (run !== undefined) worker.foldCache.put(fromFirstCommit({ ...run, projection: firstProjection }));
    await handleJob(worker, job, delivery);
  }
  return worker.foldCache.endOf(job.run);
}

export const handleJob = (worker: JobHandler, job: Job, delivery: Delivery): Promise<void> =>
  withCallsInPlace(worker, job, delivery, (handler) => handleAlone(handler, job, delivery));

async function handleAlone(worker: JobHandler, job: Job, delivery: Delivery): Promise<void> {
  switch (job.kind) {
    case 'node':
      // Its delay is over. Where fair shares are on, the node queue hands it out, because its message groups limit each project.
      if (delivery.isDelayed === true && worker.deps.settings.shares?.regular !== undefined) return worker.deps.jobs.send([job]);
      return worker.executions.graph.execute(worker, job, delivery);
    case 'message':
    case 'workflow_task':
    case 'devkit':
      // Its delay is over. The code function, which has the deployments, takes it from the code queue.
      return worker.deps.jobs.send([job]);
    case 'wake':
      return wakeNode(worker, job, delivery);
    case 'recheck':
      return recheckRun(worker, job);
    case 'child':
      return reconcileChild(worker, job);
    case 'slot':
      return reconcileSlot(worker, job);
    case 'signal':
      return handleSignalJob(worker, job);
    case 'waits':
      return handleWaitsJob(worker, job);
    case 'retention':
      return extendRetention(worker, job, delivery.mustEndAt);
    default:
      return unreachable(job);
  }
}
