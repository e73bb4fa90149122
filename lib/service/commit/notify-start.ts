/**
 * Publishes a run's start on the event bus, if the installation enables these notices. The worker that commits the status `running`
 * publishes it, before it publishes an end in the same commit. The sweep publishes it again, because that worker may have crashed in
 * between. A run that ended before the sweep publishes only its end.
 */
import { defined } from '../../base/defined.ts';
import { type Head, isTestRun } from '../../engine/log/head.ts';
import { scheduleOf } from '../../engine/log/lineage.ts';
import type { RunStatusNotice } from '../../ports/notices.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** The fields that every notice about a run has in common. */
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

/** Publishes the start, after the commit that made the run `running`. An unavailable bus delays no work: the sweep publishes again. */
export async function notifyStart({ notices }: Needs, { head }: Pick<RunFold, 'head'>): Promise<void> {
  if (isTestRun(head) || !notices.notifiesStarts) return;
  try {
    await notices.runStatusChanged({ ...noticeOf(head), status: 'running' });
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

/** @returns whether it published the start; then the head must show `running`, so that no later sweep publishes it again */
export async function notifyStartAgain({ notices }: Needs, { head, state }: Pick<RunFold, 'head' | 'state'>): Promise<boolean> {
  const isUnreported = state.progress.status === 'running' && head.projection.status === 'pending';
  if (!isUnreported || isTestRun(head) || !notices.notifiesStarts) return false;
  await notices.runStatusChanged({ ...noticeOf(head), status: 'running' });
  return true;
}
