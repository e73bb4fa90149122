/** The clock and event loop that a workflow task uses. Tests supply a virtual one. */
import type { DurationMs, Instant } from '../engine/time.ts';

export interface ProgramClock {
  now(): Instant;
  /** Resolves when the event loop has run all pending promise callbacks (`setImmediate`). */
  waitUntilIdle(): Promise<void>;
  /** Resolves after the wait, or early when the signal aborts. Never rejects. */
  sleep(wait: DurationMs, signal: AbortSignal): Promise<void>;
}
