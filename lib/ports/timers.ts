/** One-time timers, for waits beyond the maximum delay of a queue. Precise to a minute; may fire late or twice. */
import type { Job } from './jobs.ts';
import type { Instant } from '../engine/time.ts';

export interface Timers {
  /** Sends the job to the delay queue at that time. Idempotent by `name`. */
  set(timer: { readonly name: string; readonly at: Instant; readonly job: Job }): Promise<void>;
}
