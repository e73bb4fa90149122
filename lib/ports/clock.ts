/** Time, from outside. */
import type { DurationMs, Instant } from '../engine/time.ts';

export interface Clock {
  now(): Instant;
  /** Waits; ends early and quietly when the signal aborts. */
  sleep(wait: DurationMs, signal?: AbortSignal): Promise<void>;
}
