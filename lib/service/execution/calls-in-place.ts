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
import { type Instant, after, between, durationMs, minutes, seconds } from '../../engine/time.ts';
import type { ChildJob, Job, NodeJob } from '../../ports/jobs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { commitWithRecheck } from '../commit/commit-with-recheck.ts';
import type { ChildCalls } from '../decider.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { readChildEnd } from '../runs/child-run.ts';
import { startChildRun } from '../runs/start-child-run.ts';
import type { Continuation, Delivery, JobHandler } from '../worker.ts';
import { reconcileChild, waitIn } from './reconcile-child.ts';

/** For so long a message takes called runs. Then they have messages of their own, which share the workers between projects. */
const budgetMs = seconds(10);
/** The longest time limit of a node is 14 minutes. A node begins only if its limit and the last commit fit into the invocation. */
const longestNodeMs = durationMs(minutes(14) + seconds(10));
/** A message starts at most so many called runs, also in tests, where the clock may not advance. */
const maxCalls = 100;

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
  await handle(calls.worker);
  await calls.execute();
}

class CallsInPlace implements ChildCalls {
  readonly worker: JobHandler;
  readonly #delivery: Delivery;
  readonly #until: Instant;
  /** what is executed next. One thing follows from another, so the calls of a run that calls itself do not nest here. */
  readonly #next: (() => Promise<void>)[] = [];
  #calls = 0;

  constructor(worker: JobHandler, delivery: Delivery) {
    this.worker = { ...worker, childCalls: this };
    this.#delivery = delivery;
    this.#until = after(worker.deps.clock.now(), budgetMs);
  }

  async execute(): Promise<void> {
    for (let next = this.#next.shift(); next !== undefined; next = this.#next.shift()) await next();
  }

  takeCall({ head, state }: RunFold, job: ChildJob): boolean {
    // A run that also does something else must not wait for the called run, and parallel calls have parallel workers.
    const [only, ...others] = openNodes(state);
    if (only === undefined || others.length > 0 || only.status !== 'waiting' || only.for !== 'child') return false;
    if (isTestRun(head) || !this.#hasTime() || this.#calls === maxCalls) return false;
    this.#calls += 1;
    this.#next.push(() => this.#start(job));
    return true;
  }

  async takeEnd(child: RunFold, job: ChildJob): Promise<boolean> {
    if (isTestRun(child.head) || !this.#hasTime()) return false;
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

  #hasTime(): boolean {
    const now = this.worker.deps.clock.now();
    return now < this.#until && between(now, this.#delivery.mustEndAt) > longestNodeMs;
  }

  async #start(job: ChildJob): Promise<void> {
    const { deps, foldCache } = this.worker;
    const caller = await foldCache.take(deps, job.run, { minCommit: firstCommit, mustBeFresh: false });
    const wait = caller === undefined ? undefined : waitIn(caller, job);
    // Another process has advanced the caller in the meantime.
    if (caller === undefined || wait === undefined) return reconcileChild(this.worker, job);
    let first: NodeJob | undefined;
    const refusal = await startChildRun(this.worker, caller, wait, (taken) => {
      if (taken.kind === 'node') first = taken;
    });
    if (refusal === undefined) foldCache.put(caller);
    else this.#continue(caller, (await this.#notify(caller, wait, refusal)) ?? (async () => {}));
    if (first !== undefined) await this.worker.executions.graph.execute(this.worker, first, this.#delivery);
  }

  /** @returns undefined if another process has ended the wait */
  #notify(
    caller: RunFold,
    { nodeId, iteration, attempt, childRunId }: ChildWait,
    end: Extract<Fact, { kind: 'child-ended' }>['end'],
  ): Promise<Continuation | undefined> {
    const { executions } = this.worker;
    const fact = { kind: 'child-ended', node: { nodeId, iteration }, attempt, childRunId, end } as const;
    return commitWithRecheck(this.worker, caller, () => executions[caller.head.kind].endWait(this.worker, caller, fact));
  }

  #continue(caller: RunFold, continuation: Continuation): void {
    this.#next.push(async () => {
      await continuation(this.#delivery);
      this.worker.foldCache.put(caller);
    });
  }
}
