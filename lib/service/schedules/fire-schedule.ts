/**
 * Handles a fire of a schedule. The run id follows from the schedule and the scheduled time, so a duplicate fire starts one run. The
 * fire is recorded before its run starts, so that the next fire sees it even after a crash in between.
 */
import { createHash } from 'node:crypto';
import { defined } from '../../base/defined.ts';
import { type Nonce, type RunId, type ScheduleId, type Scope, runId as toRunId } from '../../engine/ids.ts';
import { scheduleSystemValues } from '../../engine/log/lineage.ts';
import { type Instant, between } from '../../engine/time.ts';
import type { ScheduleFire, Fire, Schedule, ScheduleSetting } from '../../ports/schedules.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { beginRun } from '../runs/begin-run.ts';
import { cancelRun } from '../runs/cancel-run.ts';
import type { Decider } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { hasOpenRun } from './open-runs.ts';
import { type ScheduledRefusal, messageOf, resolveScheduled } from './scheduled-start.ts';
import { isCurrentSetting, markSettings } from './sync-schedules.ts';

/** Fires on a schedule's record. A duplicate of an older fire is recognised by its run. */
export const maxStoredFires = 10;
/** Maximum number of lost conditional writes before the message is redelivered. */
const maxConflicts = 20;
/** The endpoint of a fire's idempotency key; no client's key has this endpoint. */
const fireEndpoint = 'schedule';

interface ClaimedFire {
  readonly schedule: Schedule;
  readonly runId: RunId;
}

export async function fireSchedule(decider: Decider, fire: ScheduleFire): Promise<void> {
  const claimed = await claimFire(decider, fire);
  if (claimed === undefined) return;
  const { schedule, runId } = claimed;
  const cancels = schedule.definition.overlap === 'cancel_previous';
  if (cancels) await cancelEarlier(decider, schedule, fire);
  const result = await startScheduledRun(decider, claimed, fire);
  const recorded = await recordFire(decider.deps, fire, result);
  // A later fire could not cancel this run before it existed.
  if (cancels && recorded !== undefined && result.outcome === 'started' && indexOfFire(recorded, fire) > 0) {
    await cancelRun(decider, { ...scopeOf(fire), runId }, supersededReason);
  }
}

const supersededReason = 'the next run of its schedule has begun';
const scopeOf = ({ projectId, environment }: ScheduleFire) => ({ projectId, environment });
const indexOfFire = ({ fires }: Schedule, { scheduledAt }: ScheduleFire): number =>
  fires.findIndex((one) => one.scheduledAt === scheduledAt);

/** Decides and records what the fire does; undefined if it starts nothing, or if it has already been handled. */
async function claimFire(decider: Decider, fire: ScheduleFire): Promise<ClaimedFire | undefined> {
  const { deps } = decider;
  for (let round = 0; round < maxConflicts; round += 1) {
    const schedule = await deps.schedules.schedule(fire, fire.scheduleId);
    if (schedule === undefined || !isCurrentSetting(schedule, fire) || schedule.definition.isPaused) {
      // The recurrence is outdated: the mark makes the sweep remove it.
      await markSettings(deps, fire);
      return undefined;
    }
    const known = schedule.fires.find(({ scheduledAt }) => scheduledAt === fire.scheduledAt);
    if (known !== undefined) {
      return known.outcome === 'starting' && known.runId !== undefined ? { schedule, runId: known.runId } : undefined;
    }
    const decided = await decideFire(deps, schedule, fire);
    if (decided.outcome === 'missed') await notifyFailure(deps, schedule, decided);
    const updated = withFire(schedule, decided);
    if (!(await deps.schedules.replace(updated))) continue;
    return decided.outcome === 'starting' && decided.runId !== undefined
      ? { schedule: updated, runId: decided.runId }
      : undefined;
  }
  throw new Unavailable(`the record of schedule ${fire.scheduleId}`);
}

async function decideFire(deps: Deps, schedule: Schedule, { scheduledAt, ...settingRef }: ScheduleFire): Promise<Fire> {
  const at = deps.clock.now();
  const { catchUpWindowMs, overlap } = schedule.definition;
  if (between(scheduledAt, at) > catchUpWindowMs) {
    const message = `the fire came ${Math.round(between(scheduledAt, at) / 1_000)} s late, after the catch-up window`;
    return { scheduledAt, at, outcome: 'missed', code: 'missed', message };
  }
  const runId = scheduledRunId(settingRef, scheduledAt);
  // A duplicate of a fire that is no longer on the record: its run exists.
  const wasStarted = (await deps.log.head({ ...settingRef, runId })) !== undefined;
  if (overlap === 'skip' && !wasStarted && (await hasOpenRun(deps, schedule))) {
    return { scheduledAt, at, outcome: 'skipped', code: 'overlap', message: 'an earlier run of the schedule is still open' };
  }
  return { scheduledAt, at, outcome: 'starting', runId };
}

async function cancelEarlier(decider: Decider, schedule: Schedule, fire: ScheduleFire): Promise<void> {
  for (const { runId } of schedule.fires.slice(indexOfFire(schedule, fire) + 1)) {
    if (runId !== undefined) await cancelRun(decider, { ...scopeOf(fire), runId }, supersededReason);
  }
}

async function startScheduledRun(decider: Decider, { schedule, runId }: ClaimedFire, fire: ScheduleFire): Promise<Fire> {
  const { deps } = decider;
  const { scheduledAt, scheduleId } = fire;
  const scope = scopeOf(fire);
  const request = {
    scope,
    endpoint: fireEndpoint,
    idempotencyKey: runId,
    bodyHash: createHash('sha256').update(runId).digest('hex'),
    runId,
  };
  const result = await beginRun<ScheduledRefusal>(decider, request, async () => {
    const resolved = await resolveScheduled(decider, scope, schedule.definition);
    return resolved.kind === 'found' ? { ...resolved, system: scheduleSystemValues(scheduleId, scheduledAt) } : resolved;
  });
  const base = { scheduledAt, at: deps.clock.now() };
  switch (result.kind) {
    // The run id follows from the fire, so an earlier attempt of this fire created the existing or deleted run.
    case 'started':
    case 'run_exists':
    case 'run_deleted':
      return { ...base, outcome: 'started', runId };
    case 'idempotency_conflict':
      throw new Error(`the idempotency key of the fire of ${scheduleId} at ${scheduledAt} belongs to another request`);
    default: {
      const failed = { ...base, outcome: 'failed' as const, code: result.kind, message: messageOf(result).slice(0, 1_024) };
      await notifyFailure(deps, schedule, failed);
      return failed;
    }
  }
}

async function notifyFailure(deps: Pick<Deps, 'notices'>, schedule: Schedule, failed: Fire): Promise<void> {
  const { projectId, environment, scheduleId, definition } = schedule;
  await deps.notices.scheduleFailed({
    scope: { projectId, environment },
    scheduleId,
    workflowName: definition.workflowName,
    scheduledAt: failed.scheduledAt,
    failedAt: failed.at,
    code: failed.code ?? 'failed',
    message: failed.message ?? '',
  });
}

/**
 * Handles a fire's message from the dead-letter queue. If no worker recorded the fire, sends it again within the catch-up window,
 * because Lambda may have throttled all deliveries. Otherwise records the fire as failed, so that it does not block the next one.
 */
export async function handleFireDeadLetter(deps: Deps, fire: ScheduleFire): Promise<void> {
  const schedule = await deps.schedules.schedule(fire, fire.scheduleId);
  if (schedule === undefined || !isCurrentSetting(schedule, fire)) return;
  const known = schedule.fires.find(({ scheduledAt }) => scheduledAt === fire.scheduledAt);
  if (known !== undefined && known.outcome !== 'starting') return;
  const { scheduledAt } = fire;
  if (known === undefined && between(scheduledAt, deps.clock.now()) <= schedule.definition.catchUpWindowMs)
    return deps.jobs.sendFire(fire);
  const message = 'every delivery of its message failed, so no worker started the run; look at the worker logs at that time';
  const failed = { scheduledAt, at: deps.clock.now(), outcome: 'failed' as const, code: 'lost', message };
  await notifyFailure(deps, schedule, failed);
  await recordFire(deps, fire, failed);
}

/** The schedule with the fire on its record; a fire that is already on it keeps its position. */
function withFire(schedule: Schedule, fire: Fire): Schedule {
  const others = schedule.fires.filter(({ scheduledAt }) => scheduledAt !== fire.scheduledAt);
  const isKnown = others.length < schedule.fires.length;
  const fires = isKnown
    ? schedule.fires.map((known) => (known.scheduledAt === fire.scheduledAt ? fire : known))
    : [fire, ...others].slice(0, maxStoredFires);
  const hasFailed = fire.outcome === 'failed' || fire.outcome === 'missed';
  const lastFailure = hasFailed ? fire : schedule.lastFailure;
  return defined({ ...schedule, fires, lastFailure, revision: schedule.revision + 1 });
}

/** Writes the fire to the schedule's record. @returns the updated schedule; undefined if it no longer exists */
async function recordFire(
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

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** A ULID has 48 bits of time and 80 random bits: 10 and 16 characters of 5 bits. */
const timeLength = 10;
const randomLength = 16;

/**
 * The id of the run that a schedule starts at a time. A digest replaces the random part, so every attempt of a fire gets the same id.
 * The digest covers the schedule's nonce, which no client knows.
 */
function scheduledRunId(schedule: Omit<ScheduleSetting, 'setting'>, scheduledAt: Instant): RunId {
  const digest = createHash('sha256')
    .update(JSON.stringify([schedule.projectId, schedule.environment, schedule.scheduleId, schedule.incarnation, scheduledAt]))
    .digest();
  const randomPart = [...digest.subarray(0, randomLength)].map((byte) => crockford.charAt(byte % crockford.length)).join('');
  let rest: number = scheduledAt;
  let time = '';
  while (time.length < timeLength) {
    time = crockford.charAt(rest % crockford.length) + time;
    rest = Math.floor(rest / crockford.length);
  }
  return toRunId(`wrun_${time}${randomPart}`);
}
