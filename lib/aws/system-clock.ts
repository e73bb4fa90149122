/** The system clock. */
import { setTimeout as delay } from 'node:timers/promises';
import { type DurationMs, type Instant, instant } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';

/** Node.js fires a longer timer at once. */
const maxTimerMs = 2 ** 31 - 1;

export class SystemClock implements Clock {
  now(): Instant {
    return instant(Date.now());
  }

  async sleep(wait: DurationMs, signal?: AbortSignal): Promise<void> {
    for (let remaining: number = wait; remaining > 0 && signal?.aborted !== true; remaining -= maxTimerMs) {
      await delay(Math.min(remaining, maxTimerMs), undefined, signal && { signal }).catch((error: unknown) => {
        if (signal?.aborted !== true) throw error;
      });
    }
  }
}
