/** Schedules in memory. */
import type { ScheduleId, Scope } from '../engine/ids.ts';
import type { Schedule, ScheduleMark, ScheduleSetting, Schedules } from '../ports/schedules.ts';
import { kept } from './kept.ts';
import { scopeName } from './runs.ts';

type Listed = Awaited<ReturnType<Schedules['list']>>;

export class MemorySchedules implements Schedules {
  readonly #schedules = new Map<string, Schedule>();
  readonly #marks = new Map<string, ScheduleMark>();
  readonly #kept = new Map<string, ScheduleSetting>();

  async schedule(scope: Scope, id: ScheduleId): Promise<Schedule | undefined> {
    return this.#schedules.get(nameOf(scope, id));
  }

  async create(schedule: Schedule): Promise<'stored' | 'occupied'> {
    const name = nameOf(schedule, schedule.scheduleId);
    if (this.#schedules.has(name)) return 'occupied';
    this.#schedules.set(name, kept(schedule));
    return 'stored';
  }

  async replace(schedule: Schedule): Promise<boolean> {
    const name = nameOf(schedule, schedule.scheduleId);
    const standing = this.#schedules.get(name);
    if (standing?.incarnation !== schedule.incarnation || standing.revision !== schedule.revision - 1) return false;
    this.#schedules.set(name, kept(schedule));
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

  async mark(mark: ScheduleMark): Promise<void> {
    this.#marks.set(settingName(mark), kept(mark));
  }

  async unmark(setting: ScheduleSetting): Promise<void> {
    this.#marks.delete(settingName(setting));
  }

  async marked(): Promise<readonly ScheduleMark[]> {
    return [...this.#marks.values()];
  }

  async keep(setting: ScheduleSetting): Promise<void> {
    this.#kept.set(settingName(setting), kept(setting));
  }

  async drop(setting: ScheduleSetting): Promise<void> {
    this.#kept.delete(settingName(setting));
  }

  async kept(): Promise<readonly ScheduleSetting[]> {
    return [...this.#kept.values()];
  }
}

const nameOf = (scope: Scope, id: ScheduleId): string => `${scopeName(scope)}#${id}`;
export const settingName = (of: ScheduleSetting): string => `${nameOf(of, of.scheduleId)}#${of.incarnation}#${of.setting}`;
