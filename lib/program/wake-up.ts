/** Wakes a workflow task that waits for an event. */
import { type Instant, between } from '../engine/time.ts';
import type { ProgramClock } from './clock.ts';

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
