/** A child run as its caller sees it: whether the call is its own, how it ended, and its cancellation. */
import { defined } from '../../base/defined.ts';
import type { ChildEnd } from '../../engine/graph/facts.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import type { Head } from '../../engine/log/head.ts';
import { callerOf } from '../../engine/log/lineage.ts';
import type { ChildJob, ChildResult } from '../../ports/jobs.ts';
import type { Decider } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { loadPayload } from '../run-log/payloads.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { cancelRun } from './cancel-run.ts';

/** Reads how the run ended from its log. @returns undefined while it is open */
export async function readChildEnd(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  { head, state: { progress } }: RunFold,
): Promise<ChildEnd | undefined> {
  if (!isTerminal(progress)) return undefined;
  switch (progress.status) {
    case 'completed': {
      const { output } = progress;
      // Loads an offloaded output for the caller, because the stored payload expires with the child.
      return {
        status: 'completed',
        output: 'value' in output ? output.value : await loadPayload(deps, head.address, output.ref),
      };
    }
    case 'failed':
      return { status: 'failed', error: progress.error };
    case 'cancelled':
      return defined({ status: 'cancelled', reason: progress.reason });
  }
}

/** Whether the head of the child run names this call. */
export const isCallOf = (called: Head, { run, nodeId, iteration, attempt }: ChildJob | ChildResult): boolean => {
  const caller = callerOf(called);
  return caller?.runId === run.runId && caller.nodeId === nodeId && caller.iteration === iteration && caller.attempt === attempt;
};

/** Cancels a child run that its caller no longer waits for, unless its parent close policy is `abandon`. */
export async function cancelAbandonedChild(decider: Decider, child: RunAddress): Promise<void> {
  const head = await decider.deps.log.head(child);
  if (head === undefined) return;
  const caller = callerOf(head);
  invariant(caller !== undefined, `run ${child.runId} has no caller`);
  if (caller.parentClosePolicy === 'abandon') return;
  await cancelRun(decider, child, `node ${caller.nodeId} of run ${caller.runId} no longer waits for this run`);
}
