/** Every minute: looks at each run whose time to be looked at has come. */
import type { Context } from 'aws-lambda';
import { recoverRuns } from '../../lib/service/recover-runs.ts';
import { deciderOf, endOf, loggerOf } from '../wiring.ts';

const logger = loggerOf('sweep');
const sweeper = deciderOf('sweep');

export async function handler(_event: unknown, context: Context): Promise<void> {
  const { failed, ...swept } = await recoverRuns(sweeper, endOf(context, sweeper.deps.clock.now()));
  for (const { run, trouble } of failed) {
    logger.error('a run could not be looked at', {
      runId: run.runId,
      error: trouble instanceof Error ? trouble : String(trouble),
    });
  }
  if (swept.looked > 0) logger.info('swept', { ...swept, failed: failed.length });
}
