/**
 * The last duties of an ended run, in their order, the head last: while the head is open, everybody who passes
 * does them again, and each of them may be done twice.
 */
import { defined } from '../../engine/defined.ts';
import { invariant } from '../../engine/invariant.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import { isTestRun } from '../../engine/log/head.ts';
import { callerOf } from '../../engine/log/lineage.ts';
import { durationMs } from '../../engine/time.ts';
import type { Deps } from '../deps.ts';
import { childJob, slotJob } from './job-messages.ts';
import { noticeOf } from './notify-start.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

export async function finalizeRun(deps: Deps, { head, state }: RunFold): Promise<void> {
  const { progress, asOf } = state;
  invariant(isTerminal(progress) && asOf !== 0, 'only an ended run has last duties');
  await notifyCallerAndChildren(deps, { head, state });
  // What an author tries out is nobody else's news.
  if (!isTestRun(head)) {
    await deps.notices.runStatusChanged({ ...noticeOf(head), status: progress.status, endedAt: progress.endedAt });
  }
  // From here on another run may have its place.
  if (state.admission !== undefined) await deps.jobs.sendDelayed(slotJob(head, state.admission), durationMs(0));
  // From here on its deployment may be removed.
  if (head.deploymentId !== null) await deps.deployments.unpin(head.address, head.deploymentId, head.address.runId);
  await deps.log.project(
    head.address,
    defined({
      status: progress.status,
      asOf,
      endedAt: progress.endedAt,
      error: progress.status === 'failed' ? progress.error : undefined,
    }),
  );
}

/** Whoever called this run hears that it has ended, and whoever it called that nobody waits any more. */
async function notifyCallerAndChildren(
  deps: Pick<Deps, 'jobs'>,
  { head, state }: Pick<RunFold, 'head' | 'state'>,
): Promise<void> {
  const caller = callerOf(head);
  const origin = defined({ address: head.address, trace: head.trace });
  if (caller !== undefined) {
    const callerOrigin = { ...origin, address: { ...head.address, runId: caller.runId } };
    await deps.jobs.sendDelayed(childJob(callerOrigin, caller, head.address.runId), noDelay);
  }
  for (const [, node] of state.nodes.entries()) {
    if (!('childRunId' in node) || node.childRunId === undefined || node.status === 'completed') continue;
    await deps.jobs.sendDelayed(childJob(origin, node, node.childRunId), noDelay);
  }
}

const noDelay = durationMs(0);
