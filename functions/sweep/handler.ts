/** Every minute: looks at each run whose time to be looked at has come, continues deletions, and sets schedules right. */
import type { Context } from 'aws-lambda';
import { after, instant } from '../../lib/engine/time.ts';
import { continueDeletions, deletingTime } from '../../lib/service/continue-deletions.ts';
import { recoverRuns } from '../../lib/service/recover-runs.ts';
import { settleSchedules } from '../../lib/service/settle-schedules.ts';
import { deciderOf, endOf, loggerOf } from '../wiring.ts';

const logger = loggerOf('sweep');
const sweeper = deciderOf('sweep');

export async function handler(_event: unknown, context: Context): Promise<void> {
  const mustEndAt = endOf(context, sweeper.deps.clock.now());
  const { failed, ...swept } = await recoverRuns(sweeper, mustEndAt);
  for (const { run, trouble } of failed) {
    logger.error('a run could not be looked at', {
      runId: run.runId,
      error: trouble instanceof Error ? trouble : String(trouble),
    });
  }
  if (swept.looked > 0) logger.info('swept', { ...swept, failed: failed.length });
  const deletions = await continueDeletions(sweeper, instant(Math.min(mustEndAt, after(sweeper.deps.clock.now(), deletingTime))));
  for (const { deletion, trouble } of deletions.failed) {
    logger.error('the deletion of a workflow could not be continued', {
      workflowName: deletion.name,
      phase: deletion.phase,
      error: trouble instanceof Error ? trouble : String(trouble),
    });
  }
  for (const { run, trouble } of deletions.broken) {
    logger.error('a run was deleted that could not be ended', {
      runId: run.runId,
      error: trouble instanceof Error ? trouble : String(trouble),
    });
  }
  const schedules = await settleSchedules(sweeper.deps, mustEndAt);
  for (const { setting, trouble } of schedules.failed) {
    logger.error('a schedule could not be set', {
      scheduleId: setting.scheduleId,
      error: trouble instanceof Error ? trouble : String(trouble),
    });
  }
}
