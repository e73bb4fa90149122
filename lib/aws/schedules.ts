/** Schedules in the control table: a partition for each scope, and one with the sync marks and settings of all scopes, for the sweep. */
import type { Makers } from '../base/lazy.ts';
import { scheduleMark, scheduleSetting, storedSchedule } from '../codec/schedules.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { ScheduleId, Scope } from '../engine/ids.ts';
import type { Schedule, ScheduleMark, ScheduleSetting, Schedules, SchedulePorts } from '../ports/schedules.ts';
import { type Item, number, packed, present, text, anyString, anyNumber, jsonOf, itemSchema } from './item-schema.ts';
import type { Resources } from './resources.ts';
import { scopeKey } from './run-keys.ts';
import { SchedulerRecurrences, schedulerSettings } from './scheduler.ts';
import { type Key, type Table, allOf, firstOf, ifNotExists, ifExists } from './table.ts';

type Listed = Awaited<ReturnType<Schedules['list']>>;

const partition = (scope: Scope): string => partitionOf('schedules', scopeKey(scope));
const scheduleKey = (scope: Scope, id: ScheduleId): Key => ({ pk: partition(scope), sk: id });

const syncPartition = partitionOf('schedule-sync');
const settingSort = (setting: ScheduleSetting): string =>
  `${scopeKey(setting)}#${setting.scheduleId}#${setting.incarnation}#${setting.setting}`;
const markKey = (setting: ScheduleSetting): Key => ({ pk: syncPartition, sk: `marked#${settingSort(setting)}` });
const registeredKey = (setting: ScheduleSetting): Key => ({ pk: syncPartition, sk: `registered#${settingSort(setting)}` });

export class DynamoSchedules implements Schedules {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async schedule(scope: Scope, id: ScheduleId): Promise<Schedule | undefined> {
    const item = await this.#table.get(scheduleKey(scope, id));
    return item && scheduleIn(item);
  }

  async create(schedule: Schedule): Promise<'stored' | 'occupied'> {
    const put = await this.#table.put(scheduleKey(schedule, schedule.scheduleId), attributesOf(schedule), ifNotExists);
    // The stored item may come from an earlier try of this request.
    return put.kind === 'stored' || scheduleIn(put.existing).incarnation === schedule.incarnation ? 'stored' : 'occupied';
  }

  async replace(schedule: Schedule): Promise<boolean> {
    const changed = await this.#table.update(
      scheduleKey(schedule, schedule.scheduleId),
      {
        expression: 'SET revision = :revision, schedule = :schedule',
        values: { ':revision': number(schedule.revision), ':schedule': packed(schedule) },
      },
      {
        expression: 'incarnation = :incarnation AND revision = :before',
        values: { ':incarnation': text(schedule.incarnation), ':before': number(schedule.revision - 1) },
      },
    );
    return changed !== undefined;
  }

  async remove(schedule: Parameters<Schedules['remove']>[0]): Promise<void> {
    await this.#table.delete(scheduleKey(schedule, schedule.scheduleId), {
      expression: 'incarnation = :incarnation',
      values: { ':incarnation': text(schedule.incarnation) },
    });
  }

  async list(scope: Scope, { limit, after }: Parameters<Schedules['list']>[1]): Promise<Listed> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: after === undefined ? 'pk = :pk' : 'pk = :pk AND sk > :after',
      ExpressionAttributeValues: present({ ':pk': text(partition(scope)), ':after': after && text(after) }),
    });
    const found = (await firstOf(items, limit + 1)).map(scheduleIn);
    const schedules = found.slice(0, limit);
    const last = schedules.at(-1);
    return found.length > limit && last !== undefined ? { schedules, next: last.scheduleId } : { schedules };
  }

  async markForSync(mark: ScheduleMark): Promise<void> {
    await this.#table.put(markKey(mark), markItem.encode({ mark }));
  }

  async clearSyncMark(setting: ScheduleSetting): Promise<void> {
    await this.#table.delete(markKey(setting), ifExists);
  }

  async syncMarks(): Promise<readonly ScheduleMark[]> {
    return (await this.#syncItems('marked#')).map((item) => markItem.decode(item).mark);
  }

  async registerSetting(setting: ScheduleSetting): Promise<void> {
    await this.#table.put(registeredKey(setting), registeredItem.encode({ setting }));
  }

  async unregisterSetting(setting: ScheduleSetting): Promise<void> {
    await this.#table.delete(registeredKey(setting), ifExists);
  }

  async registeredSettings(): Promise<readonly ScheduleSetting[]> {
    return (await this.#syncItems('registered#')).map((item) => registeredItem.decode(item).setting);
  }

  #syncItems(prefix: string): Promise<readonly Item[]> {
    return allOf(
      this.#table.query({
        ConsistentRead: true,
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':pk': text(syncPartition), ':prefix': text(prefix) },
      }),
    );
  }
}

const markItem = itemSchema('a sync mark of a schedule', { mark: jsonOf(scheduleMark) });
const registeredItem = itemSchema('a setting of a schedule', { setting: jsonOf(scheduleSetting) });

/** The record, and beside it the attributes of conditions. */
const scheduleItem = itemSchema('a schedule', { incarnation: anyString, revision: anyNumber, schedule: jsonOf(storedSchedule) });
const scheduleIn = (item: Item): Schedule => scheduleItem.decode(item).schedule;
const attributesOf = (schedule: Schedule): Item => scheduleItem.encode({ ...schedule, schedule });

export const schedulePorts = (resources: Resources): Makers<SchedulePorts> => ({
  schedules: () => new DynamoSchedules(resources.control),
  recurrences: () => new SchedulerRecurrences(resources.scheduler, schedulerSettings(resources.settings), resources.clock),
});
