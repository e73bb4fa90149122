/** Watches a running delivery to a bundle: commits its start, sends heartbeats, and aborts it when its run has ended. */
import type { Deliveries } from '../../../engine/log/deliveries.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import type { OpenNode } from '../../../engine/log/node-state.ts';
import { between, seconds } from '../../../engine/time.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import { isPastDeadline, untilNextCheck } from '../../commit/deadline.ts';
import { decideBundleRun } from './decide-bundle-run.ts';
import type { Decider } from '../../run-kind.ts';
import { type RunFold, readTail } from '../../run-log/read-run-fold.ts';
import { sendHeartbeat } from '../../run-log/attempt-heartbeats.ts';

/** Well within the shortest heartbeat timeout (`engine/log/heartbeat-timeout.ts`). */
const heartbeatInterval = seconds(60);
const checkInterval = seconds(5);
/** A delivery is shown as running after this time. For a shorter one, the completion contains the start. */
const announceAfter = seconds(1);

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
  let lastHeartbeatAt = startedAt;
  let isAnnounced = open.status === 'running';
  while (!done.aborted) {
    await deps.clock.sleep(untilNextCheck(deps, fold, isAnnounced ? checkInterval : announceAfter), done);
    if (done.aborted) return;
    try {
      await readTail(deps, fold);
      if (isPastDeadline(deps, fold)) await decideBundleRun(decider, fold, [{ kind: 'deadline-passed' }]);
      if (isTerminal(fold.state.progress)) return stop.abort();
      if (!isAnnounced) {
        const node = { nodeId: open.nodeId, iteration: open.iteration };
        await decideBundleRun(decider, fold, [{ kind: 'node-started', node, attempt: open.attempt, startedAt }]);
        isAnnounced = true;
      }
      const now = deps.clock.now();
      if (between(lastHeartbeatAt, now) < heartbeatInterval) continue;
      await sendHeartbeat(deps, fold.head, open, deliveries);
      lastHeartbeatAt = now;
    } catch (error) {
      // A missed check or heartbeat causes a duplicate execution at worst.
      if (!(error instanceof Unavailable)) throw error;
    }
  }
}
