/** Reads a schedule with its next fire time and its last run. */
import { defined } from '../../base/defined.ts';
import type { RunId, ScheduleId, Scope } from '../../engine/ids.ts';
import type { RunStatus } from '../../engine/log/head.ts';
import { nextFire } from '../../engine/schedule/timing.ts';
import type { Instant } from '../../engine/time.ts';
import type { Fire, Schedule } from '../../ports/schedules.ts';
import type { Deps } from '../deps.ts';

export interface ScheduleView {
  readonly schedule: Schedule;
  /** absent: the schedule is paused, or has no further fire */
  readonly nextRunAt?: Instant;
  /** the last run that the schedule started; `getSchedule` adds its status */
  readonly lastRun?: Fire & { readonly runId: RunId; readonly status?: RunStatus };
}

export function scheduleViewOf({ clock }: Pick<Deps, 'clock'>, schedule: Schedule): ScheduleView {
  const { definition, fires } = schedule;
  const next = definition.isPaused ? undefined : nextFire(definition.timing, clock.now());
  const last = fires.find(({ outcome }) => outcome === 'started');
  return defined({
    schedule,
    nextRunAt: next,
    lastRun: last?.runId === undefined ? undefined : { ...last, runId: last.runId },
  });
}

export async function getSchedule(
  deps: Pick<Deps, 'clock' | 'schedules' | 'log'>,
  scope: Scope,
  id: ScheduleId,
): Promise<ScheduleView | undefined> {
  const schedule = await deps.schedules.schedule(scope, id);
  if (schedule === undefined) return undefined;
  const view = scheduleViewOf(deps, schedule);
  if (view.lastRun === undefined) return view;
  const head = await deps.log.head({ ...scope, runId: view.lastRun.runId });
  return head === undefined ? view : { ...view, lastRun: { ...view.lastRun, status: head.projection.status } };
}

export interface SchedulePage {
  readonly schedules: readonly ScheduleView[];
  readonly next?: ScheduleId;
}

export async function listSchedules(
  deps: Pick<Deps, 'clock' | 'schedules'>,
  scope: Scope,
  options: { readonly limit: number; readonly after?: ScheduleId },
): Promise<SchedulePage> {
  const { schedules, next } = await deps.schedules.list(scope, options);
  return defined({ schedules: schedules.map((schedule) => scheduleViewOf(deps, schedule)), next });
}
