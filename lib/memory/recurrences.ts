/** Recurrences in memory: a test or a simulation takes the due fires. */
import { nextFire } from '../engine/schedule/timing.ts';
import { type Instant, instant } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Recurrence, Recurrences, ScheduleFire } from '../ports/recurrences.ts';
import type { ScheduleSetting } from '../ports/schedules.ts';
import { frozenCopy } from './frozen-copy.ts';
import { settingName } from './schedules.ts';

interface RegisteredRecurrence {
  readonly recurrence: Recurrence;
  readonly lastFiredAt: Instant;
}

export class MemoryRecurrences implements Recurrences {
  readonly #clock: Clock;
  readonly #registered = new Map<string, RegisteredRecurrence>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async set(recurrence: Recurrence): Promise<void> {
    const name = settingName(recurrence.setting);
    if (this.#registered.has(name)) return;
    this.#registered.set(name, { recurrence: frozenCopy(recurrence), lastFiredAt: instant(recurrence.firstAt - 1) });
  }

  async remove(setting: ScheduleSetting): Promise<void> {
    this.#registered.delete(settingName(setting));
  }

  registrations(): readonly Recurrence[] {
    return [...this.#registered.values()].map(({ recurrence }) => recurrence);
  }

  /** Deletes all recurrences, as deleting the schedule group does. */
  clear(): void {
    this.#registered.clear();
  }

  /** The fires that are due since the last call, the earliest first. */
  takeDue(): readonly ScheduleFire[] {
    const fires: ScheduleFire[] = [];
    for (const [name, registered] of this.#registered) {
      const { setting, timing } = registered.recurrence;
      let { lastFiredAt } = registered;
      for (
        let next = nextFire(timing, lastFiredAt);
        next !== undefined && next <= this.#clock.now();
        next = nextFire(timing, lastFiredAt)
      ) {
        fires.push({ ...setting, scheduledAt: next });
        lastFiredAt = next;
      }
      this.#registered.set(name, { ...registered, lastFiredAt });
    }
    return fires.toSorted((one, other) => one.scheduledAt - other.scheduledAt);
  }
}
