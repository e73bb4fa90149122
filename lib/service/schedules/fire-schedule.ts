/**
 * A schedule is due. The time that was due names the run that it starts, so that a fire that comes twice starts one run.
 * What is about to be started is noted before it is, so that the next fire sees it whoever dies in between.
 */
import { createHash } from 'node:crypto';
import type { RunAddress, RunId } from '../../engine/ids.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import { terminalStatuses } from '../../engine/log/head.ts';
import { scheduleSystemValues } from '../../engine/log/lineage.ts';
import { between } from '../../engine/time.ts';
import type { ScheduleFire } from '../../ports/recurrences.ts';
import type { Fire, Schedule } from '../../ports/schedules.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { beginRun } from '../runs/begin-run.ts';
import { cancelRun } from '../runs/cancel-run.ts';
import type { Decider } from '../commit/decide-run.ts';
import type { Deps } from '../deps.ts';
import { scheduledRunId } from './scheduled-run-id.ts';
import { recordFire, withFire } from './record-fire.ts';
import { readRunFold } from '../run-log/read-run-fold.ts';
import { type ScheduledRefusal, messageOf, resolveScheduled } from './scheduled-start.ts';
import { isCurrentSetting, markSettings } from './sync-schedules.ts';

/** How often another change of the record may come in between. */
const maxConflicts = 20;
/** The endpoint under which a fire's start is remembered: no caller's key is ever looked up there. */
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
  const noted = await recordFire(decider.deps, fire, result);
  // A later fire that found no run yet could not cancel this one.
  if (cancels && noted !== undefined && result.outcome === 'started' && indexOfFire(noted, fire) > 0) {
    await cancelRun(decider, { ...scopeOf(fire), runId }, supersededReason);
  }
}

const supersededReason = 'the next run of its schedule has begun';
const scopeOf = ({ projectId, environment }: ScheduleFire) => ({ projectId, environment });
const indexOfFire = ({ fires }: Schedule, { scheduledAt }: ScheduleFire): number =>
  fires.findIndex((one) => one.scheduledAt === scheduledAt);

/** Decides what becomes of the fire and notes it; undefined where it starts nothing, or has been dealt with. */
async function claimFire(decider: Decider, fire: ScheduleFire): Promise<ClaimedFire | undefined> {
  const { deps } = decider;
  for (let round = 0; round < maxConflicts; round += 1) {
    const schedule = await deps.schedules.schedule(fire, fire.scheduleId);
    if (schedule === undefined || !isCurrentSetting(schedule, fire) || schedule.definition.isPaused) {
      // Nobody wants this alarm any more: the sweep removes what is left of it.
      await markSettings(deps, fire);
      return undefined;
    }
    const known = schedule.fires.find(({ scheduledAt }) => scheduledAt === fire.scheduledAt);
    if (known !== undefined) {
      return known.outcome === 'starting' && known.runId !== undefined ? { schedule, runId: known.runId } : undefined;
    }
    const decided = await decideFire(deps, schedule, fire);
    if (decided.outcome === 'missed') await notifyFailure(deps, schedule, decided);
    const noted = withFire(schedule, decided);
    if (!(await deps.schedules.replace(noted))) continue;
    return decided.outcome === 'starting' && decided.runId !== undefined ? { schedule: noted, runId: decided.runId } : undefined;
  }
  throw new Unavailable(`the record of schedule ${fire.scheduleId}`);
}

async function decideFire(deps: Deps, schedule: Schedule, { scheduledAt, ...settingRef }: ScheduleFire): Promise<Fire> {
  const at = deps.clock.now();
  const { catchUpWindowMs, overlap } = schedule.definition;
  if (between(scheduledAt, at) > catchUpWindowMs) {
    const message = `it came ${Math.round(between(scheduledAt, at) / 1_000)} s after its time`;
    return { scheduledAt, at, outcome: 'missed', code: 'missed', message };
  }
  const runId = scheduledRunId(settingRef, scheduledAt);
  // Older than what is kept of the fires, and come again: its run is there.
  const wasStarted = (await deps.log.head({ ...settingRef, runId })) !== undefined;
  if (overlap === 'skip' && !wasStarted && (await hasOpenRun(deps, schedule))) {
    return { scheduledAt, at, outcome: 'skipped', code: 'overlap', message: 'a run that it started before is open' };
  }
  return { scheduledAt, at, outcome: 'starting', runId };
}

async function hasOpenRun(deps: Deps, schedule: Schedule): Promise<boolean> {
  const { projectId, environment } = schedule;
  const open = await Promise.all(
    schedule.fires.map(async ({ outcome, runId }) => {
      if (runId === undefined || (outcome !== 'starting' && outcome !== 'started')) return false;
      return isOpen(deps, { projectId, environment, runId }, outcome === 'starting');
    }),
  );
  return open.some(Boolean);
}

/** @param ifMissing what a run is that there is not, or not yet */
async function isOpen(deps: Deps, run: RunAddress, ifMissing: boolean): Promise<boolean> {
  const head = await deps.log.head(run);
  if (head === undefined) return ifMissing;
  // The projection may be late about an end, and is never wrong about one.
  if (terminalStatuses.some((status) => status === head.projection.status)) return false;
  const fold = await readRunFold(deps, run);
  return fold !== undefined && !isTerminal(fold.state.progress);
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
  const noted = { scheduledAt, at: deps.clock.now() };
  switch (result.kind) {
    // An id that is taken follows from the fire, so what exists, or was deleted, is what an earlier try of this fire has made.
    case 'started':
    case 'run_exists':
    case 'run_deleted':
      return { ...noted, outcome: 'started', runId };
    case 'idempotency_conflict':
      throw new Error(`the fire of ${scheduleId} at ${scheduledAt} is another one of the same name`);
    default: {
      const failed = { ...noted, outcome: 'failed' as const, code: result.kind, message: messageOf(result).slice(0, 1_024) };
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
 * The message of a fire reached the dead-letter queue. One that no worker noted is sent again while it may catch up, because Lambda may
 * have throttled all its deliveries. Of another the record says that it failed, and the next one is no longer held up by it.
 */
export async function handleFireDeadLetter(deps: Deps, fire: ScheduleFire): Promise<void> {
  const schedule = await deps.schedules.schedule(fire, fire.scheduleId);
  if (schedule === undefined || !isCurrentSetting(schedule, fire)) return;
  const known = schedule.fires.find(({ scheduledAt }) => scheduledAt === fire.scheduledAt);
  if (known !== undefined && known.outcome !== 'starting') return;
  const { scheduledAt } = fire;
  if (known === undefined && between(scheduledAt, deps.clock.now()) <= schedule.definition.catchUpWindowMs)
    return deps.jobs.sendFire(fire);
  const message = 'its message was given to workers again and again, and none of them could start the run';
  const failed = { scheduledAt, at: deps.clock.now(), outcome: 'failed' as const, code: 'lost', message };
  await notifyFailure(deps, schedule, failed);
  await recordFire(deps, fire, failed);
}
