/** Creates a schedule: the record first, then its recurrence in the scheduler. A repeated request completes an interrupted creation. */
import { type TimingRequest, type TimingError, validateTiming } from '../../engine/schedule/validate-timing.ts';
import type { ScheduleId, Scope } from '../../engine/ids.ts';
import type { Schedule, ScheduleDefinition } from '../../ports/schedules.ts';
import type { Resolver } from '../decider.ts';
import { type ScheduledRefusal, atVersionOf, resolveScheduled } from './scheduled-start.ts';
import { markSettings, syncSetting } from './sync-schedules.ts';

export type RequestedTerms = Omit<ScheduleDefinition, 'timing' | 'latestVersionWhenSet'> & { readonly timing: TimingRequest };

export interface CreateScheduleRequest {
  readonly scope: Scope;
  readonly scheduleId: ScheduleId;
  readonly bodyHash: string;
  readonly terms: RequestedTerms;
}

export type CreateScheduleResult =
  | { readonly kind: 'created'; readonly schedule: Schedule; readonly isNew: boolean }
  | { readonly kind: 'schedule_exists' }
  | { readonly kind: 'timing_invalid'; readonly errors: readonly TimingError[] }
  | ScheduledRefusal;

export async function createSchedule(resolver: Resolver, request: CreateScheduleRequest): Promise<CreateScheduleResult> {
  const { deps } = resolver;
  const { scope, scheduleId, bodyHash } = request;
  const current = await deps.schedules.schedule(scope, scheduleId);
  if (current !== undefined) return resultForExisting(resolver, current, bodyHash);

  const now = deps.clock.now();
  const { timing: requestedTiming, ...terms } = request.terms;
  const timingCheck = validateTiming(requestedTiming, now, now);
  if (timingCheck.kind === 'refused') return { kind: 'timing_invalid', errors: timingCheck.errors };
  const resolved = await resolveScheduled(resolver, scope, terms);
  if (resolved.kind !== 'found') return resolved;

  const { projectId, environment } = scope;
  const schedule: Schedule = {
    projectId,
    environment,
    scheduleId,
    incarnation: deps.ids.nonce(),
    bodyHash,
    definition: { ...terms, ...atVersionOf(resolved), timing: timingCheck.timing },
    setting: 1,
    createdAt: now,
    updatedAt: now,
    fires: [],
    revision: 1,
  };
  await markSettings(deps, schedule);
  if ((await deps.schedules.create(schedule)) === 'occupied') {
    const winner = await deps.schedules.schedule(scope, scheduleId);
    await syncSetting(deps, schedule);
    return winner === undefined ? { kind: 'schedule_exists' } : resultForExisting(resolver, winner, bodyHash);
  }
  await syncSetting(deps, schedule);
  return { kind: 'created', schedule, isNew: true };
}

async function resultForExisting({ deps }: Resolver, current: Schedule, bodyHash: string): Promise<CreateScheduleResult> {
  if (current.bodyHash !== bodyHash) return { kind: 'schedule_exists' };
  await syncSetting(deps, current);
  return { kind: 'created', schedule: current, isNew: false };
}
