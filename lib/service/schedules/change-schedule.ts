/**
 * Changes, pauses, resumes and deletes schedules. A change of the record takes effect at once: a fire of an outdated recurrence
 * starts nothing, and its handler removes the recurrence.
 */
import { defined } from '../../base/defined.ts';
import { type TimingRequest, type TimingError, timingRequestOf, validateTiming } from '../../engine/schedule/validate-timing.ts';
import type { ScheduleId, Scope } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { Instant } from '../../engine/time.ts';
import type { Schedule, ScheduleSetting, ScheduleDefinition } from '../../ports/schedules.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Resolver } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { type ScheduledRefusal, atVersionOf, resolveScheduled } from './scheduled-start.ts';
import { markSettings, syncSetting, settingOf } from './sync-schedules.ts';

/** An absent field stays unchanged; null removes it. */
export interface ScheduleChange {
  readonly workflowName?: ScheduleDefinition['workflowName'];
  readonly version?: number | null;
  readonly input?: JsonValue;
  readonly cron?: string;
  readonly rate?: string;
  readonly timeZone?: string;
  readonly startAt?: Instant | null;
  readonly endAt?: Instant | null;
  readonly overlap?: ScheduleDefinition['overlap'];
  readonly catchUpWindowMs?: ScheduleDefinition['catchUpWindowMs'];
  readonly isPaused?: boolean;
}

export type ChangeScheduleResult =
  | { readonly kind: 'changed'; readonly schedule: Schedule }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'timing_invalid'; readonly errors: readonly TimingError[] }
  | ScheduledRefusal;

/** Maximum number of lost conditional writes before the request fails as `unavailable`. */
const maxConflicts = 20;

export async function changeSchedule(
  resolver: Resolver,
  scope: Scope,
  id: ScheduleId,
  change: ScheduleChange,
): Promise<ChangeScheduleResult> {
  const { deps } = resolver;
  const markedSettings: ScheduleSetting[] = [];
  for (let round = 0; round < maxConflicts; round += 1) {
    const schedule = await deps.schedules.schedule(scope, id);
    if (schedule === undefined) return { kind: 'not_found' };
    const applied = await applyChange(resolver, schedule, change);
    if (applied.kind !== 'applied') return applied;
    const changed = changedTo(schedule, applied.definition, deps.clock.now());
    const settings = changed.setting === schedule.setting ? [] : [settingOf(schedule), settingOf(changed)];
    await markSettings(deps, ...settings);
    markedSettings.push(...settings);
    if (!(await deps.schedules.replace(changed))) continue;
    for (const setting of markedSettings) await syncSetting(deps, setting);
    return { kind: 'changed', schedule: changed };
  }
  throw new Unavailable(`the record of schedule ${id}`);
}

const changedTo = (schedule: Schedule, definition: ScheduleDefinition, now: Instant): Schedule => {
  const isTimerUnchanged = timerKeyOf(definition) === timerKeyOf(schedule.definition);
  return {
    ...schedule,
    definition,
    setting: schedule.setting + (isTimerUnchanged ? 0 : 1),
    updatedAt: now,
    revision: schedule.revision + 1,
  };
};

/** The parts of a definition that determine its recurrence in the scheduler. */
const timerKeyOf = ({ timing, catchUpWindowMs, isPaused }: ScheduleDefinition): string =>
  JSON.stringify([timingRequestOf(timing), catchUpWindowMs, isPaused]);

type AppliedChange =
  | { readonly kind: 'applied'; readonly definition: ScheduleDefinition }
  | Exclude<ChangeScheduleResult, { kind: 'changed' }>;

async function applyChange(
  resolver: Resolver,
  { definition, ...schedule }: Schedule,
  change: ScheduleChange,
): Promise<AppliedChange> {
  const now = resolver.deps.clock.now();
  const { version: pinned, latestVersionWhenSet, ...rest } = definition;
  const version = change.version === undefined ? pinned : change.version;
  let next: ScheduleDefinition = defined({
    ...rest,
    latestVersionWhenSet,
    version: version ?? undefined,
    workflowName: change.workflowName ?? definition.workflowName,
    input: change.input === undefined ? definition.input : change.input,
    overlap: change.overlap ?? definition.overlap,
    catchUpWindowMs: change.catchUpWindowMs ?? definition.catchUpWindowMs,
    isPaused: change.isPaused ?? definition.isPaused,
  });
  if (changesStart(change)) {
    const { latestVersionWhenSet: _before, ...wanted } = next;
    const resolved = await resolveScheduled(resolver, schedule, wanted);
    if (resolved.kind !== 'found') return resolved;
    next = { ...wanted, ...atVersionOf(resolved) };
  }
  if (!changesTiming(change)) return { kind: 'applied', definition: next };
  const { recurrence } = definition.timing;
  // An unchanged rate keeps its anchor.
  const keepsAnchor =
    recurrence.kind === 'rate' && (change.rate ?? recurrence.rate) === recurrence.rate && change.startAt === undefined;
  const timingCheck = validateTiming(timingOf(definition, change), keepsAnchor ? recurrence.anchor : now, now);
  if (timingCheck.kind === 'refused') return { kind: 'timing_invalid', errors: timingCheck.errors };
  return { kind: 'applied', definition: { ...next, timing: timingCheck.timing } };
}

const changesStart = ({ workflowName, version, input }: ScheduleChange): boolean =>
  workflowName !== undefined || version !== undefined || input !== undefined;

const changesTiming = ({ cron, rate, timeZone, startAt, endAt }: ScheduleChange): boolean =>
  [cron, rate, timeZone, startAt, endAt].some((field) => field !== undefined);

/** A new cron expression replaces a rate, and a new rate replaces a cron expression. */
function timingOf({ timing }: ScheduleDefinition, change: ScheduleChange): TimingRequest {
  const { cron, rate, timeZone, startAt, endAt } = timingRequestOf(timing);
  const changesKind = change.cron !== undefined || change.rate !== undefined;
  const zone = change.timeZone ?? (change.rate === undefined ? timeZone : undefined);
  const start = change.startAt === undefined ? startAt : change.startAt;
  const end = change.endAt === undefined ? endAt : change.endAt;
  const kind = changesKind ? { cron: change.cron, rate: change.rate } : { cron, rate };
  return defined({
    cron: kind.cron,
    rate: kind.rate,
    timeZone: zone,
    startAt: start === undefined || start === null ? undefined : start,
    endAt: end === undefined || end === null ? undefined : end,
  });
}

export async function deleteSchedule(
  deps: Pick<Deps, 'schedules' | 'recurrences' | 'clock'>,
  scope: Scope,
  id: ScheduleId,
): Promise<{ readonly kind: 'deleted' } | { readonly kind: 'not_found' }> {
  const schedule = await deps.schedules.schedule(scope, id);
  if (schedule === undefined) return { kind: 'not_found' };
  await markSettings(deps, schedule);
  await deps.schedules.remove(schedule);
  await syncSetting(deps, schedule);
  return { kind: 'deleted' };
}
