/** One-time alarms beyond what a queue can delay. Precise to a minute, may come late or twice. */
import type { Job } from './jobs.ts';
import type { Instant } from '../engine/time.ts';

export interface Timers {
  /** Delivers the job at that time to the queue of delayed jobs. `name` says it once: the same name again is the same timer. */
  set(timer: { readonly name: string; readonly at: Instant; readonly job: Job }): Promise<void>;
}
