/**
 * Executes called runs in the worker that calls them, without a queue between the two (docs/decisions/subflows.md). One message executes
 * the caller's node, starts the called run, executes its first job, commits its end to the caller and executes what follows there.
 * This worker sends a message for what it does not execute here. If the worker dies, the sweep sends it.
 */
import type { Fact } from '../../engine/graph/facts.ts';
import { openNodes } from '../../engine/log/fold.ts';
import { firstCommit } from '../../engine/ids.ts';
import type { ChildWait } from '../../engine/log/node-state.ts';
import { isTestRun } from '../../engine/log/head.ts';
import type { ChildJob, Job, NodeJob } from '../../ports/jobs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { markDueSoon } from '../commit/mark-due.ts';
import type { ChildCalls } from '../decider.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { readChildEnd } from '../runs/child-run.ts';
import { startChildRun } from '../runs/start-child-run.ts';
import type { Continuation, Delivery, JobHandler } from '../worker.ts';
import { reconcileChild, waitIn } from './reconcile-child.ts';
import { WorkInPlace } from './work-in-place.ts';

/** Whether calls may be executed under this message. After a crash each run has messages of its own, as an attempt has commits of its own. */
const mayTake = ({ deps }: JobHandler, job: Job, { isRedelivered }: Delivery): boolean =>
  !isRedelivered &&
  deps.settings.shares?.regular === undefined &&
  (job.kind === 'wake' ? (job.resend ?? 0) === 0 : job.kind === 'node' && job.resend === 0 && job.slowLane === undefined);

/** Handles the job, and then the calls that follow from it. @param handle handles the job with this worker */
export async function withCallsInPlace(
  worker: JobHandler,
  job: Job,
  delivery: Delivery,
  handle: (worker: JobHandler) => Promise<void>,
): Promise<void> {
  if (!mayTake(worker, job, delivery)) return handle(worker);
  const calls = new CallsInPlace(worker, delivery);
  await calls.work.execute(() => handle(calls.worker));
}

class CallsInPlace implements ChildCalls {
  readonly worker: JobHandler;
  readonly #delivery: Delivery;
  readonly work: WorkInPlace;

  constructor(worker: JobHandler, delivery: Delivery) {
    this.worker = { ...worker, childCalls: this };
    this.#delivery = delivery;
    this.work = new WorkInPlace(worker.deps, delivery);
  }

  takeCall(caller: RunFold, job: ChildJob): boolean {
    return this.work.takesCall(caller, () => this.#start(job));
  }

  async takeEnd(child: RunFold, job: ChildJob): Promise<boolean> {
    if (isTestRun(child.head) || !this.work.hasTime()) return false;
    try {
      return await this.#commitEnd(child, job);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      // The called run has ended, and needs no repetition for this. A message notifies its caller when the store answers again.
      return false;
    }
  }

  async #commitEnd(child: RunFold, job: ChildJob): Promise<boolean> {
    const { deps, foldCache } = this.worker;
    const caller = await foldCache.take(deps, job.run, { minCommit: firstCommit, mustBeFresh: false });
    if (caller === undefined) return false;
    const wait = waitIn(caller, job);
    const end = await readChildEnd(deps, child);
    const isTaken = wait !== undefined && end !== undefined && openNodes(caller.state).length === 1;
    const continuation = isTaken ? await this.#notify(caller, wait, end) : undefined;
    if (continuation === undefined) foldCache.put(caller);
    else this.#continue(caller, continuation);
    return continuation !== undefined;
  }

  async #start(job: ChildJob): Promise<void> {
    const { deps, foldCache } = this.worker;
    const caller = await foldCache.take(deps, job.run, { minCommit: firstCommit, mustBeFresh: false });
    const wait = caller === undefined ? undefined : waitIn(caller, job);
    // Another process has advanced the caller in the meantime.
    if (caller === undefined || wait === undefined) return reconcileChild(this.worker, job);
    let first: NodeJob | undefined;
    const refusal = await startChildRun(this.worker, caller, wait, {
      runsFirst: (taken) => {
        if (taken.kind === 'node') first = taken;
      },
    });
    if (refusal === undefined) foldCache.put(caller);
    else this.#continue(caller, (await this.#notify(caller, wait, refusal)) ?? (async () => {}));
    if (first !== undefined) await this.worker.executions.graph.execute(this.worker, first, this.#delivery);
  }

  /** @returns undefined if another process has ended the wait */
  async #notify(
    caller: RunFold,
    { nodeId, iteration, attempt, childRunId }: ChildWait,
    end: Extract<Fact, { kind: 'child-ended' }>['end'],
  ): Promise<Continuation | undefined> {
    const { executions } = this.worker;
    const fact = { kind: 'child-ended', node: { nodeId, iteration }, attempt, childRunId, end } as const;
    if (!(await this.work.isMarked(caller.head.address))) await markDueSoon(this.worker.deps, caller.head);
    return executions[caller.head.kind].endWait(this.worker, caller, fact);
  }

  #continue(caller: RunFold, continuation: Continuation): void {
    this.work.add(async () => {
      await continuation(this.#delivery);
      this.worker.foldCache.put(caller);
    });
  }
}
