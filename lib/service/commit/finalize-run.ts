/**
 * Finalizes an ended run: notifies its caller and children, publishes its end if the installation asks for it, frees its slot and deployment, and updates its head.
 * The head is last: while it shows an open run, each redelivery and sweep repeats the finalization. Each step is idempotent.
 */
import { defined } from '../../base/defined.ts';
import { invariant } from '../../engine/invariant.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { applyCommit, fork, isTerminal } from '../../engine/log/fold.ts';
import { type HeadProjection, terminalStatuses } from '../../engine/log/head.ts';
import { callerOf } from '../../engine/log/lineage.ts';
import { isPublished } from '../../engine/run-events.ts';
import { durationMs } from '../../engine/time.ts';
import type { ChildCalls } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { childJob, slotJob } from './job-messages.ts';
import { notifyEnd } from './notify-status.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** @param childCalls default: a message notifies the caller */
export async function finalizeRun(deps: Deps, fold: RunFold, childCalls?: ChildCalls): Promise<void> {
  const { head, state } = fold;
  const { progress } = state;
  const end = endOf(fold);
  invariant(isTerminal(progress) && end !== undefined, 'finalizeRun needs an ended run');
  if (terminalStatuses.some((status) => status === head.projection.status)) return;
  const isCallerHere = await notifyCallerAndChildren(deps, fold, childCalls);
  const releaseAndRecord = async (): Promise<void> => {
    await notifyEnd(deps, head, progress.status, progress.endedAt);
    // From here on another run may take its concurrency slot.
    if (state.admission !== undefined) await deps.jobs.sendDelayed(slotJob(head, state.admission), durationMs(0));
    // From here on its deployment can be removed.
    if (head.deploymentId !== null) await deps.deployments.unpin(head.address, head.deploymentId, head.address.runId);
    await deps.log.project(head.address, end, head.expiresAt);
  };
  // The caller that continues in this process does not wait for the rest.
  if (isCallerHere) childCalls?.work.alongside(releaseAndRecord());
  else await releaseAndRecord();
}

/** What the head records of the end; undefined if the run has not ended. */
function endOf({ state: { progress, asOf, deadlineExtension } }: Pick<RunFold, 'state'>): HeadProjection | undefined {
  if (!isTerminal(progress) || asOf === 0) return undefined;
  return defined({
    status: progress.status,
    asOf,
    endedAt: progress.endedAt,
    error: progress.status === 'failed' ? progress.error : undefined,
    hasExtendedDeadline: deadlineExtension === undefined ? undefined : true,
  });
}

/**
 * The end that the head may record in the same write as the commit that ends the run, because nothing must precede the record: no run is
 * notified, nothing is published, and neither a slot nor a deployment is freed. Undefined: the run has not ended, or `finalizeRun` records
 * its end.
 */
export function endRecordedByHead(
  { notices }: Pick<Deps, 'notices'>,
  { head, state }: Pick<RunFold, 'head' | 'state'>,
): HeadProjection | undefined {
  const end = endOf({ state });
  if (end === undefined || callerOf(head) !== undefined || state.admission !== undefined || head.deploymentId !== null)
    return undefined;
  if (isPublished(notices.runEvents, head, end.status)) return undefined;
  const hasCalled = [...state.nodes.entries()].some(([, node]) => 'childRunId' in node && node.childRunId !== undefined);
  return hasCalled ? undefined : end;
}

/** The same of a commit that the fold does not have. */
export function endRecordedWith(
  deps: Pick<Deps, 'notices'>,
  { head, state: before }: Pick<RunFold, 'head' | 'state'>,
  commit: Commit,
): HeadProjection | undefined {
  const state = fork(before);
  applyCommit(state, commit);
  return endRecordedByHead(deps, { head, state });
}

/**
 * Sends a job to the caller of this run, and one to each child run that has not completed, which this run no longer waits for.
 * @returns whether the caller has the end already, and continues in this process
 */
async function notifyCallerAndChildren(
  deps: Pick<Deps, 'jobs'>,
  fold: RunFold,
  childCalls: ChildCalls | undefined,
): Promise<boolean> {
  const { head, state } = fold;
  const caller = callerOf(head);
  const origin = defined({ address: head.address, trace: head.trace });
  let isCallerHere = false;
  if (caller !== undefined) {
    const callerOrigin = { ...origin, address: { ...head.address, runId: caller.runId } };
    const job = childJob(callerOrigin, caller, head.address.runId);
    isCallerHere = (await childCalls?.takeEnd(fold, job)) === true;
    if (!isCallerHere) await deps.jobs.sendDelayed(job, noDelay);
  }
  for (const [, node] of state.nodes.entries()) {
    if (!('childRunId' in node) || node.childRunId === undefined || node.status === 'completed') continue;
    await deps.jobs.sendDelayed(childJob(origin, node, node.childRunId), noDelay);
  }
  return isCallerHere;
}

const noDelay = durationMs(0);
