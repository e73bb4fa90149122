/** What a worker does beside an attempt that takes long: says that it has begun, beats, and looks whether it is still wanted. */
import type { Plan, PlanNode } from '../../engine/graph/plan.ts';
import { nodeKey } from '../../engine/ids.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import type { Deliveries } from '../../engine/log/deliveries.ts';
import { type OpenNode, isOpen } from '../../engine/log/node-state.ts';
import { between, seconds } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { isPastDeadline, untilNextCheck } from '../commit/deadline.ts';
import { type Decider, decideRun } from '../commit/decide-run.ts';
import { type RunFold, readTail } from '../run-log/read-run-fold.ts';
import { sendHeartbeat } from '../run-log/attempt-heartbeats.ts';

/** "Still at work", at this rate; well within the patience of `engine/log/silence.ts`. */
const heartbeatInterval = seconds(60);
/** A runner keeps the time limit itself and says what it was doing; this is for one that does not. */
const graceMs = 2_000;
/** How often a worker looks whether its run has ended while a node takes long. */
const checkInterval = seconds(5);
/** A node from the queue that takes this long is shown as running; a shorter one says so with its completion. */
const announceAfter = seconds(1);

interface Watched {
  readonly fold: RunFold;
  readonly plan: Plan;
  readonly node: PlanNode;
  readonly open: OpenNode;
  /** what is known of earlier deliveries of it */
  readonly deliveries: Deliveries | undefined;
}

/**
 * Aborts the attempt through `stop` at its time limit, at the deadline of its run, or when its run has ended.
 * @param done ends the watching
 */
export async function watchAttempt(
  decider: Decider,
  { fold, plan, node, open, deliveries }: Watched,
  stop: AbortController,
  done: AbortSignal,
): Promise<void> {
  const { deps } = decider;
  const startedAt = deps.clock.now();
  let lastHeartbeatAt = startedAt;
  // A commit of its own for each of many siblings would be the contention that collecting avoids.
  let isAnnounced = open.via === 'collect' || open.status === 'running';
  for (;;) {
    const remaining = node.policy.timeoutMs + graceMs - between(startedAt, deps.clock.now());
    if (remaining <= 0) return stop.abort();
    await deps.clock.sleep(untilNextCheck(deps, fold, Math.min(remaining, isAnnounced ? checkInterval : announceAfter)), done);
    if (done.aborted) return;
    try {
      await readTail(deps, fold);
      if (isPastDeadline(deps, fold)) await decideRun(decider, fold, plan, [{ kind: 'deadline-passed' }]);
      if (isTerminal(fold.state.progress) || !isWanted(fold, open)) return stop.abort();
      if (!isAnnounced) {
        await announceStart(decider, fold, plan, open);
        isAnnounced = true;
      }
      const now = deps.clock.now();
      if (between(lastHeartbeatAt, now) < heartbeatInterval) continue;
      await sendHeartbeat(deps, fold.head, open, deliveries);
      lastHeartbeatAt = now;
    } catch (error) {
      // A missed look or beat costs a repetition at worst.
      if (!(error instanceof Unavailable)) throw error;
    }
  }
}

/** Not any more where the loop around it has ended. */
function isWanted({ state }: RunFold, open: OpenNode): boolean {
  const node = state.nodes.get(nodeKey(open));
  return node !== undefined && isOpen(node) && node.attempt === open.attempt;
}

/** Puts on the record that the attempt is being worked on. Nothing, where that is known or no longer so. */
export async function announceStart(decider: Decider, fold: RunFold, plan: Plan, open: OpenNode): Promise<void> {
  const node = { nodeId: open.nodeId, iteration: open.iteration };
  const startedAt = decider.deps.clock.now();
  await decideRun(decider, fold, plan, [{ kind: 'node-started', node, attempt: open.attempt, startedAt }]);
}
