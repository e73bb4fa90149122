/** Recurring fires of schedules, from an external scheduler. A fire may be late, duplicate, or arrive after the removal. */
import type { Instant, DurationMs } from '../engine/time.ts';
import type { Timing } from '../engine/schedule/timing.ts';
import type { ScheduleSetting } from './schedules.ts';

/** The message that the scheduler sends to the delay queue when a schedule is due. */
export interface ScheduleFire extends ScheduleSetting {
  /** the due time, equal in all deliveries of this fire */
  readonly scheduledAt: Instant;
}

export interface Recurrence {
  readonly setting: ScheduleSetting;
  readonly timing: Timing;
  /** the time of the first fire */
  readonly firstAt: Instant;
  /** the scheduler drops a fire that it could not deliver for this long */
  readonly maxDeliveryAge: DurationMs;
}

export interface Recurrences {
  /** Creates the recurrence of a setting. If the setting has one, it stays unchanged. */
  set(recurrence: Recurrence): Promise<void>;
  /** Removes the recurrence, if any. */
  remove(setting: ScheduleSetting): Promise<void>;
}
