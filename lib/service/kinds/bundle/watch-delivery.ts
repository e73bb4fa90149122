/** Watches a running delivery to a bundle: commits its start, sends heartbeats, and aborts it when its run has ended. */
import type { Deliveries } from '../../../engine/log/deliveries.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import { dueAtOf } from '../../../engine/log/heartbeat-timeout.ts';
import type { OpenNode } from '../../../engine/log/node-state.ts';
import { isPastDeadline } from '../../commit/deadline.ts';
import { decideBundleRun } from './decide-bundle-run.ts';
import type { Decider } from '../../decider.ts';
import { type RunFold, readTail } from '../../run-log/read-run-fold.ts';
import { type CheckedAttempt, announceAfter, cancelCheckInterval, watchWithHeartbeats } from '../../execution/heartbeat-loop.ts';

/**
 * Aborts the delivery through `stop` at the deadline of its run, or when its run has ended.
 * @param done ends the watching
 */
export async function watchDelivery(
  decider: Decider,
  fold: RunFold,
  { open, deliveries }: { readonly open: OpenNode; readonly deliveries: Deliveries | undefined },
  stop: AbortController,
  done: AbortSignal,
): Promise<void> {
  const { deps } = decider;
  const startedAt = deps.clock.now();
  let isAnnounced = open.status === 'running';
  const check = async (): Promise<CheckedAttempt> => {
    await readTail(deps, fold);
    if (isPastDeadline(deps, fold)) await decideBundleRun(decider, fold, [{ kind: 'deadline-passed' }]);
    if (isTerminal(fold.state.progress)) {
      stop.abort();
      return 'ended';
    }
    if (!isAnnounced) {
      const node = { nodeId: open.nodeId, iteration: open.iteration };
      await decideBundleRun(decider, fold, [{ kind: 'node-started', node, attempt: open.attempt, startedAt }]);
      isAnnounced = true;
    }
    return 'wanted';
  };
  const watched = {
    head: fold.head,
    open,
    deliveries,
    dueAt: dueAtOf(open),
    // The port that delivers the message enforces its time limit.
    untilLimit: () => Infinity,
    stopAtLimit: () => stop.abort(),
    checkInterval: () => (isAnnounced ? cancelCheckInterval : announceAfter),
    check,
  };
  return watchWithHeartbeats(deps, watched, done);
}
