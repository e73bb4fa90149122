/** Watches a running attempt: commits its start, sends heartbeats, and aborts it when its time or its run has ended. */
import type { Plan, PlanNode } from '../../../engine/graph/plan.ts';
import { nodeKey } from '../../../engine/ids.ts';
import type { Deliveries } from '../../../engine/log/deliveries.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import { dueAtOf } from '../../../engine/log/heartbeat-timeout.ts';
import { type OpenNode, isOpen } from '../../../engine/log/node-state.ts';
import { between } from '../../../engine/time.ts';
import { isPastDeadline } from '../../commit/deadline.ts';
import type { Decider } from '../../decider.ts';
import { type CheckedAttempt, announceAfter, cancelCheckInterval, watchWithHeartbeats } from '../../execution/heartbeat-loop.ts';
import { type RunFold, readTail } from '../../run-log/read-run-fold.ts';
import { decideRun } from './decide-run.ts';
import type { Pack } from './pack.ts';

/** Added to the time limit. A node runner should enforce the limit itself, because its error names the interrupted operation. */
const graceMs = 2_000;

interface Watched {
  readonly fold: RunFold;
  readonly plan: Plan;
  readonly node: PlanNode;
  readonly open: OpenNode;
  /** records of the attempt's earlier deliveries */
  readonly deliveries: Deliveries | undefined;
  /** results to commit when they are due; the attempt is on record with them */
  readonly pack: Pack | undefined;
}

/**
 * Aborts the attempt through `stop` at its time limit, at the deadline of its run, or when its run has ended.
 * @param done ends the watching
 */
export async function watchAttempt(
  decider: Decider,
  { fold, plan, node, open, deliveries, pack }: Watched,
  stop: AbortController,
  done: AbortSignal,
): Promise<void> {
  const { deps } = decider;
  const startedAt = deps.clock.now();
  // In a wide fan-out, a start commit for each sibling would cause the contention that the collector avoids. An early heartbeat has
  // the start instead. A later delivery has recorded its begin already.
  const unrecordedStart = open.via === 'collect' && deliveries === undefined ? startedAt : undefined;
  let isAnnounced = open.via === 'collect' || open.status === 'running';
  const check = async (): Promise<CheckedAttempt> => {
    const isPacked = pack !== undefined && pack.committed === undefined;
    if (isPacked) await pack.commit();
    else await readTail(deps, fold);
    // The attempt followed from a dropped pack: its result is not used, and the worker runs the node again.
    if (pack?.committed?.kind === 'dropped') {
      stop.abort();
      return 'ended';
    }
    if (isPastDeadline(deps, fold)) await decideRun(decider, fold, plan, [{ kind: 'deadline-passed' }]);
    if (isTerminal(fold.state.progress) || !isWanted(fold, open)) {
      stop.abort();
      return 'ended';
    }
    if (!isAnnounced) {
      await announceStart(decider, fold, plan, open);
      isAnnounced = true;
    }
    return 'wanted';
  };
  const watched = {
    head: fold.head,
    open,
    deliveries,
    dueAt: dueAtOf(open),
    unrecordedStart,
    untilLimit: () => node.policy.timeoutMs + graceMs - between(startedAt, deps.clock.now()),
    stopAtLimit: () => stop.abort(),
    checkInterval: () =>
      pack !== undefined && pack.committed === undefined ? pack.remaining : isAnnounced ? cancelCheckInterval : announceAfter,
    check,
  };
  return watchWithHeartbeats(deps, watched, done);
}

/** Whether the attempt is still open. It is not if the loop around it has ended. */
function isWanted({ state }: RunFold, open: OpenNode): boolean {
  const node = state.nodes.get(nodeKey(open));
  return node !== undefined && isOpen(node) && node.attempt === open.attempt;
}

/** Commits that the attempt has started. It commits nothing if that is already recorded or the attempt has ended. */
export async function announceStart(decider: Decider, fold: RunFold, plan: Plan, open: OpenNode): Promise<void> {
  const node = { nodeId: open.nodeId, iteration: open.iteration };
  const startedAt = decider.deps.clock.now();
  await decideRun(decider, fold, plan, [{ kind: 'node-started', node, attempt: open.attempt, startedAt }]);
}
