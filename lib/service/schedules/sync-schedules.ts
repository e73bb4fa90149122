/**
 * Synchronizes the recurrences in the scheduler with the records of the schedules. Each setting has its own name in the scheduler and
 * never changes, so that repeated or concurrent synchronization is harmless.
 */
import { nextFire } from '../../engine/schedule/timing.ts';
import { type Instant, between, minutes } from '../../engine/time.ts';
import type { Schedule, ScheduleSetting } from '../../ports/schedules.ts';
import type { Deps } from '../deps.ts';

type Needs = Pick<Deps, 'schedules' | 'recurrences' | 'clock'>;

/** A younger mark belongs to a request that may still be running and synchronizes the setting itself. */
const minMarkAge = minutes(2);
/** Interval at which the sweep sets all recurrences again, in case the scheduler lost one. */
const fullSyncMinutes = 60;
const maxConcurrentSyncs = 16;

export const settingOf = ({ projectId, environment, scheduleId, incarnation, setting }: ScheduleSetting): ScheduleSetting => ({
  projectId,
  environment,
  scheduleId,
  incarnation,
  setting,
});

/** Marks settings before a record changes: from now on their recurrences may be outdated. */
export const markSettings = async ({ schedules, clock }: Needs, ...settings: readonly ScheduleSetting[]): Promise<void> => {
  await Promise.all(settings.map((setting) => schedules.markForSync({ ...settingOf(setting), at: clock.now() })));
};

/** Sets the recurrence of one setting if the record requires it, and removes it otherwise. */
export async function syncSetting(deps: Needs, setting: ScheduleSetting): Promise<void> {
  const of = settingOf(setting);
  const { schedules, recurrences } = deps;
  const desired = await desiredStateOf(deps, of);
  if (desired !== undefined) {
    // Registers the setting first, so that the sweep can set a lost recurrence again.
    await schedules.registerSetting(of);
    const { timing, catchUpWindowMs } = desired.schedule.definition;
    await recurrences.set({ setting: of, timing, firstAt: desired.next, maxDeliveryAge: catchUpWindowMs });
  }
  // Reads the record again: a concurrent change may have synchronized before this recurrence was set.
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

/** Whether the setting is the schedule's current one. */
export const isCurrentSetting = (schedule: Schedule, of: ScheduleSetting): boolean =>
  schedule.incarnation === of.incarnation && schedule.setting === of.setting;

export interface SyncResult {
  readonly synced: number;
  readonly failed: readonly { readonly setting: ScheduleSetting; readonly error: unknown }[];
}

/** For the sweep: synchronizes the marked settings, and all settings once an hour. */
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
