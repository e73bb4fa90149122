/** Time and the event loop, from outside: a test has its own. */
import type { DurationMs, Instant } from '../engine/time.ts';

export interface ProgramClock {
  now(): Instant;
  /** Whatever the code does by itself, before it awaits something of the outside, has been done (`setImmediate`). */
  waitUntilIdle(): Promise<void>;
  /** Waits; ends early and quietly when the signal aborts. */
  sleep(wait: DurationMs, signal: AbortSignal): Promise<void>;
}
