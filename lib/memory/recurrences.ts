/** Recurring alarms in memory: a test or a simulation takes the fires whose time has come. */
import { nextFire } from '../engine/schedule/timing.ts';
import { type Instant, instant } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Recurrence, Recurrences, ScheduleFire } from '../ports/recurrences.ts';
import type { ScheduleSetting } from '../ports/schedules.ts';
import { kept } from './kept.ts';
import { settingName } from './schedules.ts';

interface Alarm {
  readonly recurrence: Recurrence;
  readonly taken: Instant;
}

export class MemoryRecurrences implements Recurrences {
  readonly #clock: Clock;
  readonly #alarms = new Map<string, Alarm>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async set(recurrence: Recurrence): Promise<void> {
    const name = settingName(recurrence.of);
    if (this.#alarms.has(name)) return;
    this.#alarms.set(name, { recurrence: kept(recurrence), taken: instant(recurrence.firstAt - 1) });
  }

  async remove(setting: ScheduleSetting): Promise<void> {
    this.#alarms.delete(settingName(setting));
  }

  standing(): readonly Recurrence[] {
    return [...this.#alarms.values()].map(({ recurrence }) => recurrence);
  }

  /** Loses everything, as a group of schedules does that is made anew. */
  forget(): void {
    this.#alarms.clear();
  }

  /** Every fire whose time has come since the last time, the earliest first. */
  takeDue(): readonly ScheduleFire[] {
    const fires: ScheduleFire[] = [];
    for (const [name, alarm] of this.#alarms) {
      const { of, timing } = alarm.recurrence;
      let { taken } = alarm;
      for (let next = nextFire(timing, taken); next !== undefined && next <= this.#clock.now(); next = nextFire(timing, taken)) {
        fires.push({ ...of, scheduledAt: next });
        taken = next;
      }
      this.#alarms.set(name, { ...alarm, taken });
    }
    return fires.toSorted((one, other) => one.scheduledAt - other.scheduledAt);
  }
}
