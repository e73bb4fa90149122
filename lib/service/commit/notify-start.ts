/**
 * The bus hears that a run has begun, where anybody wants to hear it: from whoever commits its first sign of work, and once
 * more from the sweep, which cannot know whether that one lived long enough to tell. What ended before is told by its end.
 */
import { defined } from '../../engine/defined.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { type Head, isTestRun } from '../../engine/log/head.ts';
import { scheduleOf } from '../../engine/log/lineage.ts';
import type { RunStatusNotice } from '../../ports/notices.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** What every notice about a run says of it. */
export function noticeOf(head: Head): Omit<RunStatusNotice, 'status' | 'endedAt'> {
  const schedule = scheduleOf(head);
  return defined({
    run: head.address,
    workflow: head.workflow,
    deploymentId: head.deploymentId === null ? undefined : head.deploymentId,
    scheduleId: schedule === undefined ? undefined : schedule.scheduleId,
    correlationId: head.trace === undefined ? undefined : head.trace.correlationId,
    startedAt: head.createdAt,
  });
}

type Needs = Pick<Deps, 'notices'>;

/** Where the commit is the one that made it a running run. A bus that cannot be reached holds up no work: the sweep tells. */
export async function notifyStart({ notices }: Needs, { head }: Pick<RunFold, 'head'>, commit: Commit): Promise<void> {
  if (!commit.events.some((event) => event.type === 'RUN_STATUS_CHANGED' && event.status === 'running')) return;
  if (isTestRun(head) || !notices.notifiesStarts) return;
  try {
    await notices.runStatusChanged({ ...noticeOf(head), status: 'running' });
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

/** True where it was told, and the head is to say `running`, so that no later sweep tells it again. */
export async function notifyStartAgain({ notices }: Needs, { head, state }: Pick<RunFold, 'head' | 'state'>): Promise<boolean> {
  const isUnreported = state.progress.status === 'running' && head.projection.status === 'pending';
  if (!isUnreported || isTestRun(head) || !notices.notifiesStarts) return false;
  await notices.runStatusChanged({ ...noticeOf(head), status: 'running' });
  return true;
}
