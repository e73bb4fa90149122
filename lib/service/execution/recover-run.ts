/**
 * Sending again what may never have been sent: what a redelivered message, a nudge and the sweep do alike.
 * Only silent nodes are sent again, so that a late duplicate cannot multiply.
 */
import { signalWaitsOf } from '../../engine/graph/sleepers.ts';
import { type NodeKey, nodeKey } from '../../engine/ids.ts';
import { isTerminal, isWaitingForSlot } from '../../engine/log/fold.ts';
import { type OpenNode, waitEndsAt } from '../../engine/log/node-state.ts';
import { isRecheckPending, heartbeatStates } from '../../engine/log/heartbeat-timeout.ts';
import { durationMs } from '../../engine/time.ts';
import { enforceDeadline } from '../commit/deadline.ts';
import { type Decider, signalMatcherOf } from '../commit/decide-run.ts';
import type { Deps } from '../deps.ts';
import { finalizeRun } from '../commit/finalize-run.ts';
import { childJob, slotJob, workJob, wakeJob } from '../commit/job-messages.ts';
import { registerWaits } from '../commit/register-waits.ts';
import { sendJobAt, needsTimer } from '../commit/schedule-message.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

const noDelay = durationMs(0);
/** Requests of one invocation: a run may wait for hundreds, and one after the other they take seconds. */
const maxConcurrentChecks = 25;

export interface Recovery {
  /** the nodes that were sent again */
  readonly resent: readonly NodeKey[];
  /** some node was asked for so recently that nobody can say yet, and no other look was left that will */
  readonly needsRecheck: boolean;
}

/**
 * Of an ended run the last duties; of an open one, every silent node is sent again, every wait for a signal kept, and every
 * call and every alarm asked after that was not just now. The fold must be fresh.
 */
export async function recoverRun(decider: Decider, fold: RunFold): Promise<Recovery> {
  const { deps } = decider;
  // First of all: what a run waits for may be much, and some of it out of reach.
  await enforceDeadline(decider, fold);
  if (isTerminal(fold.state.progress)) {
    await finalizeUnlessDone(deps, fold);
    return { resent: [], needsRecheck: false };
  }
  if (isWaitingForSlot(fold.state)) await recheckSlot(deps, fold);
  const run = fold.head.address;
  const now = deps.clock.now();
  const resent: NodeKey[] = [];
  const uncheckedNodes: OpenNode[] = [];
  let hasRecentHeartbeat = false;
  const heartbeats = await deps.log.heartbeats(run);
  for (const [key, liveness] of heartbeatStates(fold.state, heartbeats, now)) {
    switch (liveness.kind) {
      case 'within_timeout':
        hasRecentHeartbeat = true;
        break;
      case 'delegated':
        break;
      case 'sleeping':
        if (!liveness.wasCheckedRecently) uncheckedNodes.push(liveness.node);
        break;
      case 'awaiting':
        if (!liveness.wasCheckedRecently) uncheckedNodes.push(liveness.wait);
        break;
      case 'timed_out': {
        const { node } = liveness;
        const resends = liveness.resends + 1;
        if (node.status === 'waiting') await deps.jobs.sendDelayed(wakeJob(fold.head, node.dispatchedIn, node, resends), noDelay);
        else await deps.jobs.send([workJob(fold.head, node.dispatchedIn, node, resends)]);
        // Sent first, noted second: a crash between the two sends once more under the same deduplication id.
        await deps.log.heartbeat(run, { ...liveness.heartbeat, node: key, at: now, resends }, fold.head.expiresAt);
        resent.push(key);
      }
    }
  }
  for (let first = 0; first < uncheckedNodes.length; first += maxConcurrentChecks)
    await Promise.all(uncheckedNodes.slice(first, first + maxConcurrentChecks).map((node) => recheckNode(deps, fold, node)));
  // Last, because a signal that is there moves the run. Over or not: what was there in time need not lie until a wake comes that
  // does not die as the last one did.
  await registerWaits(signalMatcherOf(decider), fold, signalWaitsOf(fold.state));
  return { resent, needsRecheck: hasRecentHeartbeat && !isRecheckPending(heartbeats, now) };
}

/**
 * The alarm of a sleeper may never have been set: a second wake finds nothing to do, and a timer has a name. The delayed job
 * of a retry has neither: one more would be one more execution. If it was never sent, its node is silent soon after it is due.
 */
async function recheckNode(deps: Deps, { head }: RunFold, node: OpenNode): Promise<void> {
  const { dispatchedIn } = node;
  if (node.status === 'queued' && node.notBefore !== undefined && needsTimer(deps, node.notBefore))
    await sendJobAt(deps, node.notBefore, workJob(head, dispatchedIn, node));
  if (node.status !== 'waiting') return;
  const endsAt = waitEndsAt(node);
  const isChildWait = node.for === 'child';
  if (endsAt !== undefined) await sendJobAt(deps, endsAt, wakeJob(head, dispatchedIn, node));
  if (isChildWait) await deps.jobs.sendDelayed(childJob(head, node, node.childRunId), noDelay);
  // Where nobody can answer, each of these comes back as one more look. Noted one by one: a look at hundreds may die on its way
  // through them, and the next one goes on from there.
  if (isChildWait || endsAt !== undefined)
    await deps.log.heartbeat(head.address, { node: nodeKey(node), at: deps.clock.now(), resends: 0 }, head.expiresAt);
}

/** Only the worker gives places: whoever looks at a run that waits for one asks it to. */
async function recheckSlot(deps: Deps, { head, state: { admission } }: RunFold): Promise<void> {
  if (admission === undefined) return;
  const { notBefore = deps.clock.now() } = admission;
  await sendJobAt(deps, notBefore, { ...slotJob(head, admission), isCheck: true });
}

async function finalizeUnlessDone(deps: Deps, fold: RunFold): Promise<void> {
  const head = await deps.log.head(fold.head.address);
  const isFinalized = head !== undefined && head.projection.status !== 'pending' && head.projection.status !== 'running';
  if (!isFinalized) await finalizeRun(deps, fold);
}
