/** The clock and event loop that a workflow task uses. Tests supply a virtual one. */
import { type DurationMs, type Instant, between } from '../engine/time.ts';

export interface ProgramClock {
  now(): Instant;
  /** Resolves when the event loop has run all pending promise callbacks (`setImmediate`). */
  waitUntilIdle(): Promise<void>;
  /** Resolves after the wait, or early when the signal aborts. Never rejects. */
  sleep(wait: DurationMs, signal: AbortSignal): Promise<void>;
}

/** Wakes a workflow task that waits for an event. */
export class WakeUp {
  #isNotified = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#isNotified = true;
    this.#wake?.();
  }

  /** Resolves when `notify` was called since the last wait, or at `until`. */
  async wait(clock: ProgramClock, until?: Instant): Promise<void> {
    if (!this.#isNotified) {
      const notified = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const timerAbort = new AbortController();
      const timer = until === undefined ? [] : [clock.sleep(between(clock.now(), until), timerAbort.signal)];
      await Promise.race([notified, ...timer]);
      timerAbort.abort();
      this.#wake = undefined;
    }
    this.#isNotified = false;
  }
}
