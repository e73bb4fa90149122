/** A schedule as it stands: when it is due next, and what became of the last times. */
import type { RunId, ScheduleId, Scope } from '../engine/ids.ts';
import type { RunStatus } from '../engine/log/head.ts';
import { nextFire } from '../engine/schedule/timing.ts';
import type { Instant } from '../engine/time.ts';
import type { Fire, Schedule } from '../ports/schedules.ts';
import type { Deps } from './deps.ts';

export interface ShownSchedule {
  readonly schedule: Schedule;
  /** absent: it is paused, or over */
  readonly nextRunAt?: Instant;
  /** the run that it started last, with its status where that was looked up */
  readonly lastRun?: Fire & { readonly runId: RunId; readonly status?: RunStatus };
}

export function shownSchedule({ clock }: Pick<Deps, 'clock'>, schedule: Schedule): ShownSchedule {
  const { terms, fires } = schedule;
  const next = terms.isPaused ? undefined : nextFire(terms.timing, clock.now());
  const last = fires.find(({ outcome }) => outcome === 'started');
  return {
    schedule,
    ...(next === undefined ? {} : { nextRunAt: next }),
    ...(last?.runId === undefined ? {} : { lastRun: { ...last, runId: last.runId } }),
  };
}

export async function getSchedule(
  deps: Pick<Deps, 'clock' | 'schedules' | 'log'>,
  scope: Scope,
  id: ScheduleId,
): Promise<ShownSchedule | undefined> {
  const schedule = await deps.schedules.schedule(scope, id);
  if (schedule === undefined) return undefined;
  const shown = shownSchedule(deps, schedule);
  if (shown.lastRun === undefined) return shown;
  const head = await deps.log.head({ ...scope, runId: shown.lastRun.runId });
  return head === undefined ? shown : { ...shown, lastRun: { ...shown.lastRun, status: head.projection.status } };
}

export interface SchedulePage {
  readonly schedules: readonly ShownSchedule[];
  readonly next?: ScheduleId;
}

export async function listSchedules(
  deps: Pick<Deps, 'clock' | 'schedules'>,
  scope: Scope,
  options: { readonly limit: number; readonly after?: ScheduleId },
): Promise<SchedulePage> {
  const { schedules, next } = await deps.schedules.list(scope, options);
  return { schedules: schedules.map((schedule) => shownSchedule(deps, schedule)), ...(next === undefined ? {} : { next }) };
}
