/**
 * Changes, pauses, resumes and deletes schedules. The record decides at once: an alarm that is still set for what the record
 * no longer says changes nothing, and is removed by whoever finds it.
 */
import { type TimingAsked, type TimingFault, askedOf, judgeTiming } from '../engine/schedule/judge-timing.ts';
import type { ScheduleId, Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { Schedule, ScheduleSetting, ScheduleTerms } from '../ports/schedules.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Decider } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { type ScheduledRefusal, atVersionOf, resolveScheduled } from './scheduled-start.ts';
import { markSettings, settle, settingOf } from './settle-schedules.ts';

/** What is absent stays; null takes it away. */
export interface ScheduleChange {
  readonly workflowName?: ScheduleTerms['workflowName'];
  readonly version?: number | null;
  readonly input?: JsonValue;
  readonly cron?: string;
  readonly rate?: string;
  readonly timeZone?: string;
  readonly startAt?: Instant | null;
  readonly endAt?: Instant | null;
  readonly overlap?: ScheduleTerms['overlap'];
  readonly catchUpMs?: ScheduleTerms['catchUpMs'];
  readonly isPaused?: boolean;
}

export type ChangeScheduleAnswer =
  | { readonly kind: 'changed'; readonly schedule: Schedule }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'timing_invalid'; readonly faults: readonly TimingFault[] }
  | ScheduledRefusal;

/** How often another change may come in between. */
const mostRivals = 20;

export async function changeSchedule(
  decider: Decider,
  scope: Scope,
  id: ScheduleId,
  change: ScheduleChange,
): Promise<ChangeScheduleAnswer> {
  const { deps } = decider;
  const touched: ScheduleSetting[] = [];
  for (let round = 0; round < mostRivals; round += 1) {
    const schedule = await deps.schedules.schedule(scope, id);
    if (schedule === undefined) return { kind: 'not_found' };
    const judged = await judge(decider, schedule, change);
    if (judged.kind !== 'judged') return judged;
    const changed = changedTo(schedule, judged.terms, deps.clock.now());
    const settings = changed.setting === schedule.setting ? [] : [settingOf(schedule), settingOf(changed)];
    await markSettings(deps, ...settings);
    touched.push(...settings);
    if (!(await deps.schedules.replace(changed))) continue;
    for (const setting of touched) await settle(deps, setting);
    return { kind: 'changed', schedule: changed };
  }
  throw new Unavailable(`the record of schedule ${id}`);
}

const changedTo = (schedule: Schedule, terms: ScheduleTerms, now: Instant): Schedule => {
  const isSet = alarmOf(terms) === alarmOf(schedule.terms);
  return {
    ...schedule,
    terms,
    setting: schedule.setting + (isSet ? 0 : 1),
    updatedAt: now,
    revision: schedule.revision + 1,
  };
};

/** What the world's scheduler is told. */
const alarmOf = ({ timing, catchUpMs, isPaused }: ScheduleTerms): string =>
  JSON.stringify([askedOf(timing), catchUpMs, isPaused]);

type Judged = { readonly kind: 'judged'; readonly terms: ScheduleTerms } | Exclude<ChangeScheduleAnswer, { kind: 'changed' }>;

async function judge(decider: Decider, { terms, ...schedule }: Schedule, change: ScheduleChange): Promise<Judged> {
  const now = decider.deps.clock.now();
  const { version: pinned, atVersion, ...rest } = terms;
  const version = change.version === undefined ? pinned : change.version;
  let next: ScheduleTerms = {
    ...rest,
    ...(atVersion === undefined ? {} : { atVersion }),
    ...(version === undefined || version === null ? {} : { version }),
    ...(change.workflowName === undefined ? {} : { workflowName: change.workflowName }),
    ...(change.input === undefined ? {} : { input: change.input }),
    overlap: change.overlap ?? terms.overlap,
    catchUpMs: change.catchUpMs ?? terms.catchUpMs,
    isPaused: change.isPaused ?? terms.isPaused,
  };
  if (startsOtherwise(change)) {
    const { atVersion: _before, ...wanted } = next;
    const resolved = await resolveScheduled(decider, schedule, wanted);
    if (resolved.kind !== 'found') return resolved;
    next = { ...wanted, ...atVersionOf(resolved) };
  }
  if (!isOfTiming(change)) return { kind: 'judged', terms: next };
  const { recurrence } = terms.timing;
  // A rate that stays counts on from where it did.
  const stays =
    recurrence.kind === 'rate' && (change.rate ?? recurrence.rate) === recurrence.rate && change.startAt === undefined;
  const verdict = judgeTiming(timingOf(terms, change), stays ? recurrence.anchor : now, now);
  if (verdict.kind === 'refused') return { kind: 'timing_invalid', faults: verdict.faults };
  return { kind: 'judged', terms: { ...next, timing: verdict.timing } };
}

const startsOtherwise = ({ workflowName, version, input }: ScheduleChange): boolean =>
  workflowName !== undefined || version !== undefined || input !== undefined;

const isOfTiming = ({ cron, rate, timeZone, startAt, endAt }: ScheduleChange): boolean =>
  [cron, rate, timeZone, startAt, endAt].some((asked) => asked !== undefined);

/** A cron expression takes the place of a rate, and the other way round. */
function timingOf({ timing }: ScheduleTerms, change: ScheduleChange): TimingAsked {
  const { cron, rate, timeZone, startAt, endAt } = askedOf(timing);
  const changesKind = change.cron !== undefined || change.rate !== undefined;
  const zone = change.timeZone ?? (change.rate === undefined ? timeZone : undefined);
  const start = change.startAt === undefined ? startAt : change.startAt;
  const end = change.endAt === undefined ? endAt : change.endAt;
  const kind = changesKind ? { cron: change.cron, rate: change.rate } : { cron, rate };
  return {
    ...(kind.cron === undefined ? {} : { cron: kind.cron }),
    ...(kind.rate === undefined ? {} : { rate: kind.rate }),
    ...(zone === undefined ? {} : { timeZone: zone }),
    ...(start === undefined || start === null ? {} : { startAt: start }),
    ...(end === undefined || end === null ? {} : { endAt: end }),
  };
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
  await settle(deps, schedule);
  return { kind: 'deleted' };
}
