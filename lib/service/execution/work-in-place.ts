/** What a process executes after the work of its message and without another one: the runs that the message's run calls, and their callers. */
import type { RunAddress, RunId } from '../../engine/ids.ts';
import { openNodes } from '../../engine/log/fold.ts';
import { isTestRun } from '../../engine/log/head.ts';
import { type Instant, after, between, durationMs, instant, minutes, seconds } from '../../engine/time.ts';
import { firstCheckDelay, markDue, nextCheckOf } from '../commit/mark-due.ts';
import type { WorkBeside } from '../decider.ts';
import type { Deps } from '../deps.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import type { Delivery } from '../worker.ts';

/** For so long a message takes called runs. Then they have messages of their own, which share the workers between projects. */
const budgetMs = seconds(10);
/** The longest time limit of a node is 14 minutes. A node begins only if its limit and the last commit fit into the invocation. */
const longestNodeMs = durationMs(minutes(14) + seconds(10));
/** A message starts at most so many called runs, also in tests, where the clock may not advance. */
const maxCalls = 100;

export class WorkInPlace implements WorkBeside {
  readonly #deps: Pick<Deps, 'clock' | 'index'>;
  readonly #mustEndAt: Instant;
  readonly #until: Instant;
  /** One thing follows from another, so the calls of a run that calls itself do not nest here. */
  readonly #next: (() => Promise<void>)[] = [];
  readonly #alongside: Promise<void>[] = [];
  /** the due entries of the runs whose calls are executed here, once they are requested */
  readonly #callers = new Map<RunId, Promise<void> | undefined>();
  #calls = 0;

  constructor(deps: Pick<Deps, 'clock' | 'index'>, { mustEndAt }: Pick<Delivery, 'mustEndAt'>) {
    this.#deps = deps;
    this.#mustEndAt = mustEndAt;
    this.#until = after(deps.clock.now(), budgetMs);
  }

  /**
   * Does the work of the message, and then what it adds, one after the other. It ends when the work alongside has ended too.
   * @throws the first error
   */
  async execute(ofMessage: () => Promise<void>): Promise<void> {
    try {
      await ofMessage();
      for (let next = this.#next.shift(); next !== undefined; next = this.#next.shift()) await next();
    } finally {
      await Promise.allSettled(this.#alongside);
    }
    await Promise.all(this.#alongside);
  }

  /** Takes work that nothing here waits for but the end of the message. */
  alongside(work: Promise<void>): void {
    // `execute` throws the error.
    work.catch(() => undefined);
    this.#alongside.push(work);
  }

  add(work: () => Promise<void>): void {
    this.#next.push(work);
  }

  hasTime(): boolean {
    const now = this.#deps.clock.now();
    return now < this.#until && between(now, this.#mustEndAt) > longestNodeMs;
  }

  /**
   * Adds the work of a call, if this process may execute it.
   * @param caller after the commit with the call
   */
  takesCall({ head, state }: RunFold, work: () => Promise<void>): boolean {
    // A run that also does something else must not wait for the called run, and parallel calls have parallel workers.
    const [only, ...others] = openNodes(state);
    if (only === undefined || others.length > 0 || only.status !== 'waiting' || only.for !== 'child') return false;
    if (isTestRun(head) || !this.hasTime() || this.#calls === maxCalls) return false;
    this.#calls += 1;
    this.#callers.set(head.address.runId, undefined);
    this.add(work);
    return true;
  }

  /**
   * Marks a run that waits for its next check, beside what follows: the run has an earlier entry in any case. Of a run whose call is executed
   * here, the entry is as early as after a commit to it, because the end of the call is committed within seconds.
   */
  marksDue({ head, state }: RunFold): void {
    const { runId } = head.address;
    const now = this.#deps.clock.now();
    const next = nextCheckOf(state, head.deadlineAt, now);
    const isCaller = this.#callers.has(runId);
    const marking = markDue(this.#deps, head, isCaller ? instant(Math.min(next, after(now, firstCheckDelay))) : next);
    this.alongside(marking);
    if (isCaller) this.#callers.set(runId, marking);
  }

  /** Whether the run is marked since a call that is executed here. Then the commit of its end needs no other check of the run. */
  async isMarked({ runId }: RunAddress): Promise<boolean> {
    return (
      this.#callers.get(runId)?.then(
        () => true,
        () => false,
      ) ?? false
    );
  }
}
