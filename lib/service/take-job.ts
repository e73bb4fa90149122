/** What the worker does with a job, by its kind. */
import { unreachable } from '../engine/invariant.ts';
import type { Job } from '../ports/jobs.ts';
import { nudgeRun } from './nudge-run.ts';
import { type Delivery, type Worker, runNode, wakeNode } from './run-node.ts';
import { takeSignal, takeWaits } from './take-signal.ts';
import { tendChild } from './tend-child.ts';
import { tendPlace } from './tend-place.ts';

export async function takeJob(worker: Worker, job: Job, delivery: Delivery): Promise<void> {
  switch (job.kind) {
    case 'node':
      // Its wait is over: where a project's share is bounded, the queue that knows it hands the job out.
      if (delivery.isDelayed === true && worker.deps.settings.shares?.first !== undefined) return worker.deps.jobs.send([job]);
      return runNode(worker, job, delivery);
    case 'message':
    case 'drive':
      // Its wait is over: its code is run by the function that has the deployments.
      return worker.deps.jobs.send([job]);
    case 'wake':
      return wakeNode(worker, job, delivery);
    case 'nudge':
      return nudgeRun(worker, job);
    case 'child':
      return tendChild(worker, job);
    case 'place':
      return tendPlace(worker, job);
    case 'signal':
      return takeSignal(worker, job);
    case 'waits':
      return takeWaits(worker, job);
    default:
      return unreachable(job);
  }
}
