/** What a process executes after the work of its message and without another one: the runs that the message's run calls, and their callers. */
import { openNodes } from '../../engine/log/fold.ts';
import { isTestRun } from '../../engine/log/head.ts';
import { type Instant, after, between, durationMs, minutes, seconds } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import type { Delivery } from '../worker.ts';

/** For so long a message takes called runs. Then they have messages of their own, which share the workers between projects. */
const budgetMs = seconds(10);
/** The longest time limit of a node is 14 minutes. A node begins only if its limit and the last commit fit into the invocation. */
const longestNodeMs = durationMs(minutes(14) + seconds(10));
/** A message starts at most so many called runs, also in tests, where the clock may not advance. */
const maxCalls = 100;

export class WorkInPlace {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #mustEndAt: Instant;
  readonly #until: Instant;
  /** One thing follows from another, so the calls of a run that calls itself do not nest here. */
  readonly #next: (() => Promise<void>)[] = [];
  readonly #alongside: Promise<void>[] = [];
  #calls = 0;

  constructor(clock: Pick<Clock, 'now'>, { mustEndAt }: Pick<Delivery, 'mustEndAt'>) {
    this.#clock = clock;
    this.#mustEndAt = mustEndAt;
    this.#until = after(clock.now(), budgetMs);
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
    const now = this.#clock.now();
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
    this.add(work);
    return true;
  }
}
