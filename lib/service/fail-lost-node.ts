/** Answers a dead letter: what is known of its attempt decides whether that has failed or is to be delivered again. */
import { isTerminal } from '../engine/log/fold.ts';
import type { OpenNode } from '../engine/log/node-state.ts';
import { wantedNode } from '../engine/log/wanted-node.ts';
import type { Job, ResultMessage } from '../ports/jobs.ts';
import type { Decider } from './decide-run.ts';
import { recordDeadLetter } from './admit-attempt.ts';
import { mendRun } from './mend-run.ts';
import { type RunFold, readRun } from './read-log.ts';
import { takeSignal } from './take-signal.ts';
import { tellEnd } from './tend-child.ts';

export async function failLostNode(decider: Decider, message: Job | ResultMessage): Promise<void> {
  const { deps } = decider;
  // No look at the run that sent it would find it again.
  if ('kind' in message && message.kind === 'signal') return takeSignal(decider, message);
  const fold = await readRun(deps, message.run);
  if (fold === undefined) return;
  const open = attemptOf(fold, message);
  if (open !== undefined) await recordDeadLetter(decider, fold, open);
  // Looking at the caller would only ask for the same message again: it is told here, by one who has more time.
  if (!isTerminal(fold.state.progress) && 'childRunId' in message) await tellEnd(decider, fold, message);
  // Whatever else the message was to do, a redelivery would have done by looking at the whole run.
  await mendRun(decider, fold);
}

/** The attempt that the message was to run, wake or report; the end of a run that was called is no attempt. */
function attemptOf({ state }: RunFold, message: Job | ResultMessage): OpenNode | undefined {
  if (!('nodeId' in message) || 'childRunId' in message) return undefined;
  const open = wantedNode(state, message, message.attempt);
  const isWake = 'kind' in message && message.kind === 'wake';
  return (open?.status === 'waiting') === isWake ? open : undefined;
}
