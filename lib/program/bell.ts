/** Wakes a drive that waits for something to happen. */
import { type Instant, between } from '../engine/time.ts';
import type { ProgramClock } from './clock.ts';

export class Bell {
  #hasRung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#hasRung = true;
    this.#wake?.();
  }

  /** Until it has rung since the last wait, or until the moment has come. */
  async wait(clock: ProgramClock, until?: Instant): Promise<void> {
    if (!this.#hasRung) {
      const rung = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const over = new AbortController();
      const timer = until === undefined ? [] : [clock.sleep(between(clock.now(), until), over.signal)];
      await Promise.race([rung, ...timer]);
      over.abort();
      this.#wake = undefined;
    }
    this.#hasRung = false;
  }
}
