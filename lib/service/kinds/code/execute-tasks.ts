/**
 * Executes a workflow task, and in the same process the tasks of the code runs that follow from it: of a run that it calls, and of its
 * caller after its end (docs/decisions/subflows.md). This process may neither create runs nor commit to other runs. Another
 * function does so, and returns the tasks that follow.
 */
import { defined } from '../../../base/defined.ts';
import type { CommitNo, RunId } from '../../../engine/ids.ts';
import { callerOf } from '../../../engine/log/lineage.ts';
import { durationMs } from '../../../engine/time.ts';
import type { ChildJob, ChildReconciler, ExpectedChild, WorkflowTaskJob } from '../../../ports/jobs.ts';
import type { ChildCalls } from '../../decider.ts';
import { waitIn } from '../../execution/reconcile-child.ts';
import { WorkInPlace } from '../../execution/work-in-place.ts';
import { foldOfTask } from '../../run-log/carried-run.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';
import type { Delivery, WorkflowTaskWorker } from '../../worker.ts';
import { runWorkflowTask } from './run-workflow-task.ts';

export async function executeTasks(worker: WorkflowTaskWorker, job: WorkflowTaskJob, delivery: Delivery): Promise<void> {
  const { reconciler } = worker;
  // After a crash each run has messages of its own, so that another crash can be attributed to its run.
  if (reconciler === undefined || delivery.isRedelivered || job.resend > 0) return runWorkflowTask(worker, job, delivery);
  const calls = new CodeCallsInPlace(worker, reconciler, delivery);
  await calls.work.execute(() => runWorkflowTask(calls.worker, job, delivery));
}

class CodeCallsInPlace implements ChildCalls {
  readonly worker: WorkflowTaskWorker;
  readonly #reconciler: ChildReconciler;
  readonly #delivery: Delivery;
  readonly work: WorkInPlace;
  /** the commits of the callers with the calls that were executed here, by called run */
  readonly #calledIn = new Map<RunId, CommitNo>();

  constructor(worker: WorkflowTaskWorker, reconciler: ChildReconciler, delivery: Delivery) {
    this.worker = { ...worker, childCalls: this };
    this.#reconciler = reconciler;
    this.#delivery = delivery;
    this.work = new WorkInPlace(worker.deps, delivery);
  }

  takeCall(caller: RunFold, job: ChildJob): boolean {
    const wait = waitIn(caller, job);
    if (wait === undefined) return false;
    const { workflowName, dispatchedIn } = wait;
    return this.work.takesCall(caller, async () => {
      this.#calledIn.set(job.childRunId, dispatchedIn);
      if (!(await this.#reconcile(job, { kind: 'starts', workflowName, callerAsOf: dispatchedIn })))
        await this.worker.deps.jobs.sendDelayed(job, durationMs(0));
    });
  }

  async takeEnd({ head, state: { asOf } }: RunFold, job: ChildJob): Promise<boolean> {
    if (callerOf(head)?.isCode !== true || !this.work.hasTime()) return false;
    const expected = defined({
      kind: 'has_ended' as const,
      callerAsOf: this.#calledIn.get(job.childRunId),
      childAsOf: asOf === 0 ? undefined : asOf,
      isCallerMarked: (await this.work.isMarked(job.run)) ? (true as const) : undefined,
    });
    return this.#reconcile(job, expected);
  }

  /** @returns false if a message must do it */
  async #reconcile(job: ChildJob, expected: ExpectedChild): Promise<boolean> {
    const reconciled = await this.#reconciler.reconcile({ job, expected });
    if (reconciled.kind === 'needs_message') return false;
    for (const task of reconciled.tasks) {
      this.worker.deps.log.recognize(task.job.creation);
      this.work.add(() => runWorkflowTask(this.worker, task.job, this.#delivery, foldOfTask(this.worker.deps, task)));
    }
    return true;
  }
}
