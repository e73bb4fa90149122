/** A clock with virtual time: it changes only when a test sets or advances it. */
import { type DurationMs, type Instant, after, earliest } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';

interface Sleeper {
  readonly wakeAt: Instant;
  readonly wake: () => void;
}

export class MemoryClock implements Clock {
  #now: Instant;
  readonly #sleepers = new Set<Sleeper>();

  constructor(start: Instant) {
    this.#now = start;
  }

  now(): Instant {
    return this.#now;
  }

  sleep(wait: DurationMs, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (wait === 0 || signal?.aborted === true) return resolve();
      const sleeper: Sleeper = { wakeAt: after(this.#now, wait), wake: () => wake() };
      const wake = (): void => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake);
    });
  }

  /** Sets the time, forwards or backwards (clock skew), and wakes due sleepers, the earliest first. */
  set(moment: Instant): void {
    this.#now = moment;
    const due = [...this.#sleepers].filter((sleeper) => sleeper.wakeAt <= moment);
    for (const sleeper of due.toSorted((one, other) => one.wakeAt - other.wakeAt)) sleeper.wake();
  }

  advance(by: DurationMs): void {
    this.set(after(this.#now, by));
  }

  /** When the next sleeper is due; undefined if there is none. */
  nextWakeAt(): Instant | undefined {
    return earliest([...this.#sleepers].map((sleeper) => sleeper.wakeAt));
  }
}
