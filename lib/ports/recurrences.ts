/** Alarms that come again and again, kept by the world's own scheduler. Each may come late, twice, or after it was removed. */
import type { Instant, DurationMs } from '../engine/time.ts';
import type { Timing } from '../engine/schedule/timing.ts';
import type { ScheduleSetting } from './schedules.ts';

/** The schedule is due: what the queue of delayed jobs is given at each time. */
export interface ScheduleFire extends ScheduleSetting {
  /** the time that was due, the same however often it comes */
  readonly scheduledAt: Instant;
}

export interface Recurrence {
  readonly setting: ScheduleSetting;
  readonly timing: Timing;
  /** the first time that it is to come */
  readonly firstAt: Instant;
  /** what could not be delivered for so long is not delivered */
  readonly maxDeliveryAge: DurationMs;
}

export interface Recurrences {
  /** The same setting again is the same alarm, and the first stands. */
  set(recurrence: Recurrence): Promise<void>;
  /** Removes it; where there is none, nothing happens. */
  remove(setting: ScheduleSetting): Promise<void>;
}
