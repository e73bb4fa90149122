/** Runs every minute: recovers stale runs, continues workflow deletions and repairs schedules. */
import type { Context } from 'aws-lambda';
import { after, instant } from '../../lib/engine/time.ts';
import { continueDeletions, deletionTimeBudget } from '../../lib/service/deletions/continue-deletions.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { syncSchedules } from '../../lib/service/schedules/sync-schedules.ts';
import { deciderOf, invocationDeadlineOf, loggerOf } from '../wiring.ts';

const logger = loggerOf('sweep');
const sweeper = deciderOf('sweep');

export async function handler(_event: unknown, context: Context): Promise<void> {
  const mustEndAt = invocationDeadlineOf(context, sweeper.deps.clock.now());
  const { failed, ...swept } = await sweepRuns(sweeper, mustEndAt);
  for (const { run, error } of failed) {
    logger.error('run check failed', {
      runId: run.runId,
      error: error instanceof Error ? error : String(error),
    });
  }
  if (swept.checked > 0) logger.info('swept', { ...swept, failed: failed.length });
  const deletions = await continueDeletions(
    sweeper,
    instant(Math.min(mustEndAt, after(sweeper.deps.clock.now(), deletionTimeBudget))),
  );
  for (const { deletion, error } of deletions.failed) {
    logger.error('workflow deletion failed: the next sweep continues it', {
      workflowName: deletion.name,
      phase: deletion.phase,
      error: error instanceof Error ? error : String(error),
    });
  }
  for (const { run, error } of deletions.broken) {
    logger.error('run deleted without finalization', {
      runId: run.runId,
      error: error instanceof Error ? error : String(error),
    });
  }
  const schedules = await syncSchedules(sweeper.deps, mustEndAt);
  for (const { setting, error } of schedules.failed) {
    logger.error('schedule could not be synchronized', {
      scheduleId: setting.scheduleId,
      error: error instanceof Error ? error : String(error),
    });
  }
}
