/** Handles a dead letter. The delivery records of its attempt decide whether the attempt fails or is redispatched. */
import { isTerminal } from '../../engine/log/fold.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import { openNodeAt } from '../../engine/log/open-nodes.ts';
import { after, minutes } from '../../engine/time.ts';
import type { Job, ResultMessage } from '../../ports/jobs.ts';
import type { Decider } from '../decider.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { markDue } from '../commit/mark-due.ts';
import { recordDeadLetter } from './admit-attempt.ts';
import { recoverRun } from './recover-run.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';
import { handleSignalJob } from '../runs/handle-signal-job.ts';
import { notifyChildEnd } from './reconcile-child.ts';

/** The sweep checks due runs each minute. */
const checkDelay = minutes(1);

export async function handleDeadLetter(decider: Decider, message: Job | ResultMessage): Promise<void> {
  const { deps } = decider;
  // Recovery of the sending run would not find this signal again.
  if ('kind' in message && message.kind === 'signal') return handleSignalJob(decider, message);
  const fold = await readRunFold(deps, message.run);
  if (fold === undefined) return;
  const open = attemptOf(fold, message);
  if (open !== undefined) await recordDeadLetter(decider, fold, open);
  // Recovery of the caller would only send the same message again. This function has more time, so it commits the child's end itself.
  if (!isTerminal(fold.state.progress) && 'childRunId' in message) await notifyChildEnd(decider, fold, message);
  // Recovery of the run does everything else that the message would have done.
  await recoverUnlessRefused(decider, fold);
}

/**
 * Where a store refuses a call of the recovery, the sweep recovers the run. A message that came again for it would do so in step with
 * the other dead letters of the run: hundreds of recoveries each minute would keep the store throttled.
 */
async function recoverUnlessRefused(decider: Decider, fold: RunFold): Promise<void> {
  const { deps } = decider;
  try {
    await recoverRun(decider, fold);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    await markDue(deps, fold.head, after(deps.clock.now(), checkDelay));
  }
}

/** The attempt that the message runs, wakes or reports; none for the end of a child run. */
function attemptOf({ state }: RunFold, message: Job | ResultMessage): OpenNode | undefined {
  if (!('nodeId' in message) || 'childRunId' in message) return undefined;
  const open = openNodeAt(state, message, message.attempt);
  const isWake = 'kind' in message && message.kind === 'wake';
  return (open?.status === 'waiting') === isWake ? open : undefined;
}
