/**
 * Reconciles a child run with its caller: starts the child run, notifies the caller of its end, or cancels it when the caller no longer
 * waits. Any process that knows of either run may request this, any number of times. Only the two logs decide, so a late, lost or
 * duplicate message changes nothing. (docs/decisions/subflows.md)
 */
import { waitsForManyRuns } from '../../engine/graph/dispatch.ts';
import type { ChildEnd, Fact } from '../../engine/graph/facts.ts';
import { type RunAddress, firstCommit, nodeKey } from '../../engine/ids.ts';
import type { ChildWait } from '../../engine/log/node-state.ts';
import type { ChildJob, ChildResult } from '../../ports/jobs.ts';
import { notifyRun } from '../commit/commit-facts.ts';
import { commitWithDueEntry } from '../commit/commit-with-due-entry.ts';
import { childResult } from '../commit/job-messages.ts';
import type { Decider } from '../decider.ts';
import type { AppendResult } from '../run-log/append.ts';
import { type RunFold, readRunFold, readWaitingRun } from '../run-log/read-run-fold.ts';
import { readChildEnd, cancelAbandonedChild, isCallOf } from '../runs/child-run.ts';
import { startChildRun } from '../runs/start-child-run.ts';
import { recordingAttemptErrors } from './admit-attempt.ts';

export async function reconcileChild(decider: Decider, job: ChildJob): Promise<void> {
  const child: RunAddress = { ...job.run, runId: job.childRunId };
  const [caller, fold] = await readCallerAndChild(decider, job, child);
  const wait = caller === undefined ? undefined : waitIn(caller, job);
  // A message or a code run's log may name any run. The head of the child run names its caller, so it must agree.
  if (fold !== undefined && !isCallOf(fold.head, job)) return;
  if (caller === undefined || wait === undefined) return cancelAbandonedChild(decider, child);
  const end = fold === undefined ? await startChildRun(decider, caller, wait) : await readChildEnd(decider.deps, fold);
  if (end === undefined) return;
  // A refused child run has no log from which the collector could read the refusal.
  if (end.status === 'refused' || !waitsForManyRuns(caller.state)) return notifyCaller(decider, caller, wait, end);
  await decider.deps.jobs.sendResult(childResult(caller.head, wait.dispatchedIn, wait, wait.childRunId));
}

/** The caller and the called run. Usually both are needed, so they are read in parallel to save latency. Their logs are short as a rule. */
const readCallerAndChild = ({ deps }: Decider, { run }: ChildJob, child: RunAddress) =>
  Promise.all([readWaitingRun(deps, run, firstCommit), readWaitingRun(deps, child, firstCommit)]);

/** Notifies the caller of the child run's end, if it has ended, without the collector: the collector failed to process this child. */
export async function notifyChildEnd(decider: Decider, caller: RunFold, called: ChildJob | ChildResult): Promise<void> {
  const wait = waitIn(caller, called);
  if (wait === undefined) return;
  const fold = await readRunFold(decider.deps, { ...called.run, runId: called.childRunId });
  const end = fold === undefined || !isCallOf(fold.head, called) ? undefined : await readChildEnd(decider.deps, fold);
  if (end !== undefined) await notifyCaller(decider, caller, wait, end);
}

export function waitIn({ state }: RunFold, job: ChildJob | ChildResult): ChildWait | undefined {
  const node = state.nodes.get(nodeKey(job));
  return node?.status === 'waiting' && node.for === 'child' && node.childRunId === job.childRunId ? node : undefined;
}

async function notifyCaller(decider: Decider, caller: RunFold, wait: ChildWait, end: ChildEnd): Promise<void> {
  const commit = (): Promise<AppendResult> => commitChildEnd(decider, caller, wait, end);
  await recordingAttemptErrors(decider, caller, wait, () => commitWithDueEntry(decider, caller, commit));
}

/** Commits the end of the called run to the log of its caller. The caller must have been marked as due. */
export function commitChildEnd(decider: Decider, caller: RunFold, wait: ChildWait, end: ChildEnd): Promise<AppendResult> {
  const { nodeId, iteration, attempt, childRunId } = wait;
  const fact: Fact = { kind: 'child-ended', node: { nodeId, iteration }, attempt, childRunId, end };
  return notifyRun(decider, caller, [fact]);
}
