/**
 * Brings what the world's scheduler holds to what the records say. Each setting has a name of its own there and never
 * changes, so that setting and removing may be repeated, and two who do it at once do no harm.
 */
import { nextFire } from '../../engine/schedule/timing.ts';
import { type Instant, between, minutes } from '../../engine/time.ts';
import type { Schedule, ScheduleSetting } from '../../ports/schedules.ts';
import type { Deps } from '../deps.ts';

type Needs = Pick<Deps, 'schedules' | 'recurrences' | 'clock'>;

/** Longer than whoever made a mark may live: it is still at work until then, and does this itself. */
const minMarkAge = minutes(2);
/** How often all settings are set again, whether or not anybody knows of a loss. */
const fullSyncMinutes = 60;
const maxConcurrentSyncs = 16;

export const settingOf = ({ projectId, environment, scheduleId, incarnation, setting }: ScheduleSetting): ScheduleSetting => ({
  projectId,
  environment,
  scheduleId,
  incarnation,
  setting,
});

/** Notes, before a record is changed, that what is held of these settings may be wrong from now on. */
export const markSettings = async ({ schedules, clock }: Needs, ...settings: readonly ScheduleSetting[]): Promise<void> => {
  await Promise.all(settings.map((setting) => schedules.markForSync({ ...settingOf(setting), at: clock.now() })));
};

/** One setting: held where the record wants it, and nowhere else. */
export async function syncSetting(deps: Needs, setting: ScheduleSetting): Promise<void> {
  const of = settingOf(setting);
  const { schedules, recurrences } = deps;
  const desired = await desiredStateOf(deps, of);
  if (desired !== undefined) {
    // Kept first: what is held and lost again is always known.
    await schedules.registerSetting(of);
    const { timing, catchUpWindowMs } = desired.schedule.definition;
    await recurrences.set({ setting: of, timing, firstAt: desired.next, maxDeliveryAge: catchUpWindowMs });
  }
  // Asked again after it was set: a change in between may have been settled before it.
  if (desired === undefined || (await desiredStateOf(deps, of)) === undefined) {
    await recurrences.remove(of);
    await schedules.unregisterSetting(of);
  }
  await schedules.clearSyncMark(of);
}

async function desiredStateOf({ schedules, clock }: Needs, of: ScheduleSetting) {
  const schedule = await schedules.schedule(of, of.scheduleId);
  if (schedule === undefined || !isCurrentSetting(schedule, of) || schedule.definition.isPaused) return undefined;
  const next = nextFire(schedule.definition.timing, clock.now());
  return next === undefined ? undefined : { schedule, next };
}

/** Whether that setting is the one that stands. */
export const isCurrentSetting = (schedule: Schedule, of: ScheduleSetting): boolean =>
  schedule.incarnation === of.incarnation && schedule.setting === of.setting;

export interface SyncResult {
  readonly synced: number;
  readonly failed: readonly { readonly setting: ScheduleSetting; readonly error: unknown }[];
}

/** For the sweep: what somebody left half done, and once in a while everything. */
export async function syncSchedules(deps: Needs, mustEndAt: Instant): Promise<SyncResult> {
  const now = deps.clock.now();
  const marked = (await deps.schedules.syncMarks()).filter(({ at }) => between(at, now) > minMarkAge);
  const isFullSyncDue = Math.floor(now / 60_000) % fullSyncMinutes === 0;
  const due: readonly ScheduleSetting[] = [...marked, ...(isFullSyncDue ? await deps.schedules.registeredSettings() : [])];
  const failed: { setting: ScheduleSetting; error: unknown }[] = [];
  let synced = 0;
  for (let first = 0; first < due.length && deps.clock.now() < mustEndAt; first += maxConcurrentSyncs) {
    await Promise.all(
      due.slice(first, first + maxConcurrentSyncs).map(async (setting) => {
        try {
          await syncSetting(deps, setting);
          synced += 1;
        } catch (error) {
          failed.push({ setting: settingOf(setting), error });
        }
      }),
    );
  }
  return { synced, failed };
}
