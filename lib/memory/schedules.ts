/** Schedules and their recurrences in memory. */
import type { ScheduleId, Scope } from '../engine/ids.ts';
import { nextFire } from '../engine/schedule/timing.ts';
import { type Instant, instant } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type {
  Schedule,
  ScheduleMark,
  ScheduleSetting,
  Schedules,
  Recurrence,
  Recurrences,
  ScheduleFire,
} from '../ports/schedules.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

type Listed = Awaited<ReturnType<Schedules['list']>>;

/** Schedules in memory. */
class MemorySchedules implements Schedules {
  readonly #schedules = new Map<string, Schedule>();
  readonly #marks = new Map<string, ScheduleMark>();
  readonly #registered = new Map<string, ScheduleSetting>();

  async schedule(scope: Scope, id: ScheduleId): Promise<Schedule | undefined> {
    return this.#schedules.get(nameOf(scope, id));
  }

  async create(schedule: Schedule): Promise<'stored' | 'occupied'> {
    const name = nameOf(schedule, schedule.scheduleId);
    if (this.#schedules.has(name)) return 'occupied';
    this.#schedules.set(name, frozenCopy(schedule));
    return 'stored';
  }

  async replace(schedule: Schedule): Promise<boolean> {
    const name = nameOf(schedule, schedule.scheduleId);
    const existing = this.#schedules.get(name);
    if (existing?.incarnation !== schedule.incarnation || existing.revision !== schedule.revision - 1) return false;
    this.#schedules.set(name, frozenCopy(schedule));
    return true;
  }

  async remove(schedule: Parameters<Schedules['remove']>[0]): Promise<void> {
    const name = nameOf(schedule, schedule.scheduleId);
    if (this.#schedules.get(name)?.incarnation === schedule.incarnation) this.#schedules.delete(name);
  }

  async list(scope: Scope, { limit, after }: Parameters<Schedules['list']>[1]): Promise<Listed> {
    const rest = [...this.#schedules.values()]
      .filter((one) => scopeName(one) === scopeName(scope) && (after === undefined || one.scheduleId > after))
      .toSorted((one, other) => (one.scheduleId < other.scheduleId ? -1 : 1));
    const schedules = rest.slice(0, limit);
    const last = schedules.at(-1);
    return rest.length > limit && last !== undefined ? { schedules, next: last.scheduleId } : { schedules };
  }

  async markForSync(mark: ScheduleMark): Promise<void> {
    this.#marks.set(settingName(mark), frozenCopy(mark));
  }

  async clearSyncMark(setting: ScheduleSetting): Promise<void> {
    this.#marks.delete(settingName(setting));
  }

  async syncMarks(): Promise<readonly ScheduleMark[]> {
    return [...this.#marks.values()];
  }

  async registerSetting(setting: ScheduleSetting): Promise<void> {
    this.#registered.set(settingName(setting), frozenCopy(setting));
  }

  async unregisterSetting(setting: ScheduleSetting): Promise<void> {
    this.#registered.delete(settingName(setting));
  }

  async registeredSettings(): Promise<readonly ScheduleSetting[]> {
    return [...this.#registered.values()];
  }
}

const nameOf = (scope: Scope, id: ScheduleId): string => `${scopeName(scope)}#${id}`;
const settingName = (setting: ScheduleSetting): string =>
  `${nameOf(setting, setting.scheduleId)}#${setting.incarnation}#${setting.setting}`;

interface RegisteredRecurrence {
  readonly recurrence: Recurrence;
  readonly lastFiredAt: Instant;
}

/** Recurrences in memory: a test or a simulation takes the due fires. */
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

export const memorySchedules = (clock: Clock) => ({
  schedules: new MemorySchedules(),
  recurrences: new MemoryRecurrences(clock),
});
