/**
 * Publishes status changes of a run on the event bus, as far as the installation asks for them (`engine/run-events.ts`). The worker that
 * commits the status `running` publishes the start, before it publishes an end in the same commit. The sweep publishes the start again,
 * because that worker may have crashed in between. A run that ended before the sweep publishes only its end.
 */
import { defined } from '../../base/defined.ts';
import { type Head, type TerminalStatus, isTestRun } from '../../engine/log/head.ts';
import { scheduleOf } from '../../engine/log/lineage.ts';
import { isPublished } from '../../engine/run-events.ts';
import type { Instant } from '../../engine/time.ts';
import type { RunStatusNotice } from '../../ports/notices.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

type Needs = Pick<Deps, 'notices'>;
type Change = Pick<RunStatusNotice, 'status' | 'endedAt'>;

/** @returns whether the installation asks for this change, and it was published */
async function publish(deps: Needs, head: Head, change: Change): Promise<boolean> {
  // Before the port is used: the function that stops test runs has no bus.
  if (isTestRun(head) || !isPublished(deps.notices.runEvents, head, change.status)) return false;
  await deps.notices.runStatusChanged({ ...noticeOf(head), ...change });
  return true;
}

/** The fields that every notice about a run has in common. */
function noticeOf(head: Head): Omit<RunStatusNotice, keyof Change> {
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

/** Publishes the start, after the commit that made the run `running`. An unavailable bus delays no work: the sweep publishes again. */
export async function notifyStart(deps: Needs, { head }: Pick<RunFold, 'head'>): Promise<void> {
  try {
    await publish(deps, head, { status: 'running' });
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

/** @returns whether it published the start; then the head must show `running`, so that no later sweep publishes it again */
export async function notifyStartAgain(deps: Needs, { head, state }: Pick<RunFold, 'head' | 'state'>): Promise<boolean> {
  const isUnreported = state.progress.status === 'running' && head.projection.status === 'pending';
  return isUnreported && publish(deps, head, { status: 'running' });
}

/** Publishes the end. An unavailable bus delays the rest of the finalization, which is repeated. */
export async function notifyEnd(deps: Needs, head: Head, status: TerminalStatus, endedAt: Instant): Promise<void> {
  await publish(deps, head, { status, endedAt });
}
