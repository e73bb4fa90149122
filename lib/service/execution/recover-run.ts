/**
 * Recovers a run whose effects may be lost. Redelivered messages, rechecks and the sweep use it. It redispatches only nodes whose
 * heartbeat timed out, so that a late duplicate message cannot multiply.
 */
import { signalWaitsOf } from '../../engine/log/open-nodes.ts';
import { type NodeKey, nodeKey } from '../../engine/ids.ts';
import { isTerminal, isWaitingForSlot } from '../../engine/log/fold.ts';
import { type OpenNode, waitEndsAt } from '../../engine/log/node-state.ts';
import { isRecheckPending, heartbeatStates } from '../../engine/log/heartbeat-timeout.ts';
import { type Instant, durationMs } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { enforceDeadline } from '../commit/deadline.ts';
import { type Decider, kindOf } from '../decider.ts';
import { finalizeRun } from '../commit/finalize-run.ts';
import { childJob, slotJob, wakeJob } from '../commit/job-messages.ts';
import { registerWaits } from '../commit/register-waits.ts';
import { sendJobAt, needsTimer } from '../commit/schedule-message.ts';
import { storedHeartbeatOf } from '../run-log/attempt-heartbeats.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

const noDelay = durationMs(0);
/** A run may have hundreds of waits, and checks in sequence would take seconds. */
const maxConcurrentChecks = 25;

export interface Recovery {
  /** the nodes that were redispatched */
  readonly resent: readonly NodeKey[];
  /** some node is within its heartbeat timeout, and no other recheck of the run is pending */
  readonly needsRecheck: boolean;
  /** when the sweep must check the run again, if the fold alone does not tell */
  readonly checkAt?: Instant;
}

/**
 * Finalizes an ended run. For an open run it redispatches each node whose heartbeat timed out, registers each signal wait, and sends
 * the jobs and wake-ups of other waits again unless that was done recently. The fold must be fresh.
 */
export async function recoverRun(decider: Decider, fold: RunFold): Promise<Recovery> {
  const { deps } = decider;
  // First, because the run may have many waits, and checking them may fail.
  await enforceDeadline(decider, fold);
  if (isTerminal(fold.state.progress)) {
    await finalizeUnlessDone(deps, fold);
    return { resent: [], needsRecheck: false };
  }
  const kind = kindOf(decider, fold.head);
  if (kind.recover !== undefined) return kind.recover(decider, fold);
  if (isWaitingForSlot(fold.state)) await recheckSlot(deps, fold);
  const found: FoundNodes = { resent: [], unchecked: [], needsRecheck: false };
  await runEach([
    () => resendTimedOut(decider, fold, found),
    () => recheckNodes(decider, fold, found.unchecked),
    // Last, because a match with a signal advances the run. Waits past their time are included: a signal that arrived in time is then
    // delivered even if the worker of the wake-up crashes.
    () => registerWaits(decider, fold, signalWaitsOf(fold.state)),
  ]);
  return found;
}

interface FoundNodes {
  readonly resent: NodeKey[];
  /** waiting nodes that no check has looked at recently */
  readonly unchecked: OpenNode[];
  needsRecheck: boolean;
}

/**
 * Runs each step although an earlier one found a store unavailable. Otherwise a store that refuses one of a hundred messages would keep
 * a signal from a wait for as long as it does so.
 * @throws the first error
 */
async function runEach(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: Unavailable[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      errors.push(error);
    }
  }
  const [first] = errors;
  if (first !== undefined) throw first;
}

/** Sends the jobs of nodes whose heartbeat timed out again. */
async function resendTimedOut(decider: Decider, fold: RunFold, found: FoundNodes): Promise<void> {
  const { deps } = decider;
  const run = fold.head.address;
  const now = deps.clock.now();
  const heartbeats = await deps.log.heartbeats(run);
  const states = [...heartbeatStates(fold.state, heartbeats, now)];
  for (const [, liveness] of states) {
    if (liveness.kind === 'sleeping' && !liveness.wasCheckedRecently) found.unchecked.push(liveness.node);
    if (liveness.kind === 'awaiting' && !liveness.wasCheckedRecently) found.unchecked.push(liveness.wait);
  }
  for (const [key, liveness] of states) {
    if (liveness.kind !== 'timed_out') continue;
    const { node } = liveness;
    const resends = liveness.resends + 1;
    if (node.status === 'waiting') await deps.jobs.sendDelayed(wakeJob(fold.head, node.dispatchedIn, node, resends), noDelay);
    else await deps.jobs.send([kindOf(decider, fold.head).jobOf(fold.head, node.dispatchedIn, node, resends)]);
    // Sent first, recorded second: a crash in between causes one more send with the same deduplication id. A worker that has begun
    // meanwhile keeps its record, and the sent message yields to it.
    const record = { ...liveness.heartbeat, node: key, at: now, resends };
    await deps.log.replaceHeartbeat(run, storedHeartbeatOf(node, heartbeats), record, fold.head.expiresAt);
    found.resent.push(key);
  }
  found.needsRecheck = states.some(([, { kind }]) => kind === 'within_timeout') && !isRecheckPending(heartbeats, now);
}

async function recheckNodes(decider: Decider, fold: RunFold, nodes: readonly OpenNode[]): Promise<void> {
  for (let first = 0; first < nodes.length; first += maxConcurrentChecks)
    await Promise.all(nodes.slice(first, first + maxConcurrentChecks).map((node) => recheckNode(decider, fold, node)));
}

/**
 * Sends the wake-up of a waiting node again, because the first may be lost. That is safe: a timer has a unique name, and a second
 * wake-up changes nothing. A delayed retry has neither property, so a duplicate would be one more execution. If its job was lost, its
 * node's heartbeat times out soon after it is due.
 */
async function recheckNode(decider: Decider, { head }: RunFold, node: OpenNode): Promise<void> {
  const { deps } = decider;
  const { dispatchedIn } = node;
  if (node.status === 'queued' && node.notBefore !== undefined && needsTimer(deps, node.notBefore))
    await sendJobAt(deps, node.notBefore, kindOf(decider, head).jobOf(head, dispatchedIn, node));
  if (node.status !== 'waiting') return;
  const endsAt = waitEndsAt(node);
  const isChildWait = node.for === 'child';
  if (endsAt !== undefined) await sendJobAt(deps, endsAt, wakeJob(head, dispatchedIn, node));
  if (isChildWait) await deps.jobs.sendDelayed(childJob(head, node, node.childRunId), noDelay);
  // Recorded, so that checks of waits that cannot end yet do not multiply. Recorded per node: if the worker crashes among hundreds of
  // waits, the next check continues from there.
  if (isChildWait || endsAt !== undefined)
    await deps.log.heartbeat(head.address, { node: nodeKey(node), at: deps.clock.now(), resends: 0 }, head.expiresAt);
}

/** Only the worker assigns slots, so this sends it a slot job. */
async function recheckSlot(deps: Decider['deps'], { head, state: { admission } }: RunFold): Promise<void> {
  if (admission === undefined) return;
  const { notBefore = deps.clock.now() } = admission;
  await sendJobAt(deps, notBefore, { ...slotJob(head, admission), isCheck: true });
}

/** Only the projection shows whether the effects of the end are complete. */
export async function finalizeUnlessDone(deps: Decider['deps'], fold: RunFold): Promise<void> {
  const isFinalized = await deps.log.isFinalized(fold.head.address);
  if (!isFinalized) await finalizeRun(deps, fold);
}
