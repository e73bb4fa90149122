/** Makes a schedule: the record first, then the alarm that follows from it. The same once more finds it made, and finishes it. */
import { type TimingAsked, type TimingFault, judgeTiming } from '../engine/schedule/judge-timing.ts';
import type { ScheduleId, Scope } from '../engine/ids.ts';
import type { Schedule, ScheduleTerms } from '../ports/schedules.ts';
import type { Decider } from './decide-run.ts';
import { type ScheduledRefusal, atVersionOf, resolveScheduled } from './scheduled-start.ts';
import { markSettings, settle } from './settle-schedules.ts';

export type TermsAsked = Omit<ScheduleTerms, 'timing' | 'atVersion'> & { readonly timing: TimingAsked };

export interface CreateScheduleRequest {
  readonly scope: Scope;
  readonly scheduleId: ScheduleId;
  readonly bodyHash: string;
  readonly terms: TermsAsked;
}

export type CreateScheduleAnswer =
  | { readonly kind: 'created'; readonly schedule: Schedule; readonly isNew: boolean }
  | { readonly kind: 'schedule_exists' }
  | { readonly kind: 'timing_invalid'; readonly faults: readonly TimingFault[] }
  | ScheduledRefusal;

export async function createSchedule(decider: Decider, request: CreateScheduleRequest): Promise<CreateScheduleAnswer> {
  const { deps } = decider;
  const { scope, scheduleId, bodyHash } = request;
  const standing = await deps.schedules.schedule(scope, scheduleId);
  if (standing !== undefined) return existing(decider, standing, bodyHash);

  const now = deps.clock.now();
  const { timing: asked, ...terms } = request.terms;
  const verdict = judgeTiming(asked, now, now);
  if (verdict.kind === 'refused') return { kind: 'timing_invalid', faults: verdict.faults };
  const resolved = await resolveScheduled(decider, scope, terms);
  if (resolved.kind !== 'found') return resolved;

  const { projectId, environment } = scope;
  const schedule: Schedule = {
    projectId,
    environment,
    scheduleId,
    incarnation: deps.ids.nonce(),
    bodyHash,
    terms: { ...terms, ...atVersionOf(resolved), timing: verdict.timing },
    setting: 1,
    createdAt: now,
    updatedAt: now,
    fires: [],
    revision: 1,
  };
  await markSettings(deps, schedule);
  if ((await deps.schedules.create(schedule)) === 'occupied') {
    const other = await deps.schedules.schedule(scope, scheduleId);
    await settle(deps, schedule);
    return other === undefined ? { kind: 'schedule_exists' } : existing(decider, other, bodyHash);
  }
  await settle(deps, schedule);
  return { kind: 'created', schedule, isNew: true };
}

async function existing({ deps }: Decider, standing: Schedule, bodyHash: string): Promise<CreateScheduleAnswer> {
  if (standing.bodyHash !== bodyHash) return { kind: 'schedule_exists' };
  await settle(deps, standing);
  return { kind: 'created', schedule: standing, isNew: false };
}
