/** The time. All code takes it from this port, so that tests and the simulator can control it. */
import type { DurationMs, Instant } from '../engine/time.ts';

export interface Clock {
  now(): Instant;
  /** Resolves after `wait`, or at once when the signal aborts. Never rejects. */
  sleep(wait: DurationMs, signal?: AbortSignal): Promise<void>;
}
