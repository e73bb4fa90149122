/**
 * Brings what the world's scheduler holds to what the records say. Each setting has a name of its own there and never
 * changes, so that setting and removing may be repeated, and two who do it at once do no harm.
 */
import { nextFire } from '../engine/schedule/timing.ts';
import { type Instant, between, minutes } from '../engine/time.ts';
import type { Schedule, ScheduleSetting } from '../ports/schedules.ts';
import type { Deps } from './deps.ts';

type Needs = Pick<Deps, 'schedules' | 'recurrences' | 'clock'>;

/** Longer than whoever made a mark may live: it is still at work until then, and does this itself. */
const leftAlone = minutes(2);
/** How often all settings are set again, whether or not anybody knows of a loss. */
const resetEveryMinutes = 60;
const atOnce = 16;

export const settingOf = ({ projectId, environment, scheduleId, incarnation, setting }: ScheduleSetting): ScheduleSetting => ({
  projectId,
  environment,
  scheduleId,
  incarnation,
  setting,
});

/** Notes, before a record is changed, that what is held of these settings may be wrong from now on. */
export const markSettings = async ({ schedules, clock }: Needs, ...settings: readonly ScheduleSetting[]): Promise<void> => {
  await Promise.all(settings.map((setting) => schedules.mark({ ...settingOf(setting), at: clock.now() })));
};

/** One setting: held where the record wants it, and nowhere else. */
export async function settle(deps: Needs, setting: ScheduleSetting): Promise<void> {
  const of = settingOf(setting);
  const { schedules, recurrences } = deps;
  const wanted = await wantedOf(deps, of);
  if (wanted !== undefined) {
    // Kept first: what is held and lost again is always known.
    await schedules.keep(of);
    const { timing, catchUpMs } = wanted.schedule.terms;
    await recurrences.set({ of, timing, firstAt: wanted.next, deliveredWithin: catchUpMs });
  }
  // Asked again after it was set: a change in between may have been settled before it.
  if (wanted === undefined || (await wantedOf(deps, of)) === undefined) {
    await recurrences.remove(of);
    await schedules.drop(of);
  }
  await schedules.unmark(of);
}

async function wantedOf({ schedules, clock }: Needs, of: ScheduleSetting) {
  const schedule = await schedules.schedule(of, of.scheduleId);
  if (schedule === undefined || !isOf(schedule, of) || schedule.terms.isPaused) return undefined;
  const next = nextFire(schedule.terms.timing, clock.now());
  return next === undefined ? undefined : { schedule, next };
}

/** Whether that setting is the one that stands. */
export const isOf = (schedule: Schedule, of: ScheduleSetting): boolean =>
  schedule.incarnation === of.incarnation && schedule.setting === of.setting;

export interface Settled {
  readonly settled: number;
  readonly failed: readonly { readonly setting: ScheduleSetting; readonly trouble: unknown }[];
}

/** For the sweep: what somebody left half done, and once in a while everything. */
export async function settleSchedules(deps: Needs, mustEndAt: Instant): Promise<Settled> {
  const now = deps.clock.now();
  const marked = (await deps.schedules.marked()).filter(({ at }) => between(at, now) > leftAlone);
  const isTime = Math.floor(now / 60_000) % resetEveryMinutes === 0;
  const due: readonly ScheduleSetting[] = [...marked, ...(isTime ? await deps.schedules.kept() : [])];
  const failed: { setting: ScheduleSetting; trouble: unknown }[] = [];
  let settled = 0;
  for (let first = 0; first < due.length && deps.clock.now() < mustEndAt; first += atOnce) {
    await Promise.all(
      due.slice(first, first + atOnce).map(async (setting) => {
        try {
          await settle(deps, setting);
          settled += 1;
        } catch (trouble) {
          failed.push({ setting: settingOf(setting), trouble });
        }
      }),
    );
  }
  return { settled, failed };
}
