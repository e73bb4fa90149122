/** The clock and the ids of this process. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ulid } from 'ulid';
import { type Nonce, type RunId, nonce, runId } from '../engine/ids.ts';
import { type DurationMs, type Instant, instant } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/system.ts';

/** Node.js fires a longer timer at once. */
const maxTimerMs = 2 ** 31 - 1;

/** The system clock. */
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

/** Ids and random numbers of the system. */
export class SystemIds implements Ids {
  runId(at: Instant): RunId {
    return runId(`wrun_${ulid(at)}`);
  }

  /** 96 bits, so that two writers of a commit number never draw the same nonce. */
  nonce(): Nonce {
    return nonce(randomBytes(12).toString('base64url'));
  }

  random(): number {
    return Math.random();
  }
}
