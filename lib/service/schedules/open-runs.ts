/** Whether an earlier run of a schedule is still open, for schedules whose runs must not overlap. */
import type { RunAddress } from '../../engine/ids.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import { terminalStatuses } from '../../engine/log/head.ts';
import type { Schedule } from '../../ports/schedules.ts';
import type { Deps } from '../deps.ts';
import { readRunFold } from '../run-log/read-run-fold.ts';

export async function hasOpenRun(deps: Deps, schedule: Schedule): Promise<boolean> {
  const { projectId, environment } = schedule;
  const open = await Promise.all(
    schedule.fires.map(async ({ outcome, runId }) => {
      if (runId === undefined || (outcome !== 'starting' && outcome !== 'started')) return false;
      return isOpen(deps, { projectId, environment, runId }, outcome === 'starting');
    }),
  );
  return open.some(Boolean);
}

/** @param ifMissing the result for a run that does not exist, or not yet */
async function isOpen(deps: Deps, run: RunAddress, ifMissing: boolean): Promise<boolean> {
  const head = await deps.log.head(run);
  if (head === undefined) return ifMissing;
  // The projection may lag behind the log, but a terminal status in it is final.
  if (terminalStatuses.some((status) => status === head.projection.status)) return false;
  const fold = await readRunFold(deps, run);
  return fold !== undefined && !isTerminal(fold.state.progress);
}
