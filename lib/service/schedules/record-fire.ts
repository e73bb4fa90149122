/** What became of a fire, on the record of its schedule: the last ones are kept. */
import type { Nonce, ScheduleId, Scope } from '../../engine/ids.ts';
import type { Fire, Schedule } from '../../ports/schedules.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';

/** A fire that comes again is known by them; of an older one its run, if there is one, tells. */
export const maxStoredFires = 10;
/** How often another change may come in between. */
const maxConflicts = 20;

export const withFire = (schedule: Schedule, fire: Fire): Schedule => {
  const others = schedule.fires.filter(({ scheduledAt }) => scheduledAt !== fire.scheduledAt);
  const isKnown = others.length < schedule.fires.length;
  // One that is known keeps its place: the order is that in which they were first noted.
  const fires = isKnown
    ? schedule.fires.map((one) => (one.scheduledAt === fire.scheduledAt ? fire : one))
    : [fire, ...others].slice(0, maxStoredFires);
  const hasFailed = fire.outcome === 'failed' || fire.outcome === 'missed';
  return { ...schedule, fires, ...(hasFailed ? { lastFailure: fire } : {}), revision: schedule.revision + 1 };
};

/** The schedule with the fire on its record; undefined where it is gone. */
export async function recordFire(
  { schedules }: Pick<Deps, 'schedules'>,
  scheduleRef: Scope & { readonly scheduleId: ScheduleId; readonly incarnation: Nonce },
  fire: Fire,
): Promise<Schedule | undefined> {
  for (let round = 0; round < maxConflicts; round += 1) {
    const schedule = await schedules.schedule(scheduleRef, scheduleRef.scheduleId);
    if (schedule?.incarnation !== scheduleRef.incarnation) return undefined;
    const updated = withFire(schedule, fire);
    if (await schedules.replace(updated)) return updated;
  }
  throw new Unavailable(`the record of schedule ${scheduleRef.scheduleId}`);
}
