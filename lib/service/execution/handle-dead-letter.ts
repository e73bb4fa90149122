/** Answers a dead letter: what is known of its attempt decides whether that has failed or is to be delivered again. */
import { isTerminal } from '../../engine/log/fold.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import { openNodeAt } from '../../engine/log/open-node-at.ts';
import type { Job, ResultMessage } from '../../ports/jobs.ts';
import type { Decider } from '../commit/decide-run.ts';
import { recordDeadLetter } from './admit-attempt.ts';
import { recoverRun } from './recover-run.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';
import { handleSignalJob } from '../runs/handle-signal-job.ts';
import { notifyChildEnd } from './reconcile-child.ts';

export async function handleDeadLetter(decider: Decider, message: Job | ResultMessage): Promise<void> {
  const { deps } = decider;
  // No look at the run that sent it would find it again.
  if ('kind' in message && message.kind === 'signal') return handleSignalJob(decider, message);
  const fold = await readRunFold(deps, message.run);
  if (fold === undefined) return;
  const open = attemptOf(fold, message);
  if (open !== undefined) await recordDeadLetter(decider, fold, open);
  // Looking at the caller would only ask for the same message again: it is told here, by one who has more time.
  if (!isTerminal(fold.state.progress) && 'childRunId' in message) await notifyChildEnd(decider, fold, message);
  // Whatever else the message was to do, a redelivery would have done by looking at the whole run.
  await recoverRun(decider, fold);
}

/** The attempt that the message was to run, wake or report; the end of a run that was called is no attempt. */
function attemptOf({ state }: RunFold, message: Job | ResultMessage): OpenNode | undefined {
  if (!('nodeId' in message) || 'childRunId' in message) return undefined;
  const open = openNodeAt(state, message, message.attempt);
  const isWake = 'kind' in message && message.kind === 'wake';
  return (open?.status === 'waiting') === isWake ? open : undefined;
}
