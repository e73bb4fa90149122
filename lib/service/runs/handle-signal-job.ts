/**
 * Handles the signal messages of deployed code. Code may not write to the signal store, because that store affects other runs. It sends
 * a message instead, and the worker acts within the project and environment of the named run. The worker checks the run's head, which
 * code cannot write, to confirm that runs of this kind send messages.
 */
import { createHash } from 'node:crypto';
import { signalWaitsOf } from '../../engine/log/open-nodes.ts';
import { type RunAddress, type SignalId, signalId } from '../../engine/ids.ts';
import { after, days, instant } from '../../engine/time.ts';
import type { SignalJob, WaitsJob } from '../../ports/jobs.ts';
import { type Decider, kindOf } from '../decider.ts';
import { matchSignals, registerWaits } from '../commit/register-waits.ts';
import { readRunFold } from '../run-log/read-run-fold.ts';
import { defaultSignalTtl } from './send-signal.ts';

/** The signal id follows from the step, so a duplicate message stores the same signal. */
export const signalIdOfStep = ({ runId }: RunAddress, key: string): SignalId =>
  signalId(`sig_${createHash('sha256').update(`${runId}/${key}`).digest('base64url')}`);

export async function handleSignalJob(decider: Decider, { run, key, name, correlation, payload }: SignalJob): Promise<void> {
  const { deps } = decider;
  const head = await deps.log.head(run);
  if (head === undefined || kindOf(decider, head).signals !== 'by_message') return;
  const signalKey = { projectId: run.projectId, environment: run.environment, name, correlation };
  const receivedAt = deps.clock.now();
  const bufferedUntil = after(receivedAt, defaultSignalTtl);
  await deps.signals.store(signalKey, {
    signalId: signalIdOfStep(run, key),
    payload,
    receivedAt,
    bufferedUntil,
    // The run may send the signal again until its deadline, which moves while the run waits. Each message moves the expiry.
    retainUntil: after(instant(Math.max(bufferedUntil, head.deadlineAt)), days(1)),
  });
  await matchSignals(decider, signalKey);
}

export async function handleWaitsJob(decider: Decider, { run }: WaitsJob): Promise<void> {
  const fold = await readRunFold(decider.deps, run);
  if (fold === undefined || kindOf(decider, fold.head).signals !== 'by_message') return;
  await registerWaits(decider, fold, signalWaitsOf(fold.state));
}
