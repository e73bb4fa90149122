/** The end of a wait: its time has come, a signal arrived, the called run ended, or a request wakes the node early. */
import { emit, endRun, findOpenNode, hasEnded, markRunning } from '../decision.ts';
import { unreachable } from '../invariant.ts';
import type { Payload } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { type ChildWait, type SignalWait, type WaitingNode, waitEndsAt } from '../log/node-state.ts';
import type { Sleeper } from '../log/open-nodes.ts';
import { advance } from './advance.ts';
import type { Draft } from './draft.ts';
import { failOrRetry, plannedNode } from './end-attempt.ts';
import type { Fact } from './facts.ts';
import { mainHandle } from './outcome.ts';
import type { PlanNodeRef } from './plan.ts';
import { completionEvent, failNode } from './record-outcome.ts';
import { failureOfChild, signalExpired, signalWaitOutput, subflowExpired } from './waits.ts';

type FactOf<Kind extends Fact['kind']> = Extract<Fact, { kind: Kind }>;

export function endWaitAtItsTime(draft: Draft, { node, attempt }: FactOf<'node-woken'>): void {
  const open = findOpenNode(draft, node, attempt);
  if (open?.status !== 'waiting' || (waitEndsAt(open) ?? Infinity) > draft.tools.now) return;
  markRunning(draft);
  switch (open.for) {
    case 'time':
      return advance(draft, [wakeUp(draft, open)]);
    case 'signal':
      return expire(draft, open);
    case 'child':
      return failWait(draft, open, subflowExpired(open));
    case 'iterations':
      return advance(draft, [plannedNode(draft, open)]);
    default:
      unreachable(open);
  }
}

export function receiveSignal(draft: Draft, fact: FactOf<'signal-received'>): void {
  const { signal } = fact;
  const open = findOpenNode(draft, fact.node, fact.attempt);
  if (open?.status !== 'waiting' || open.for !== 'signal') return;
  markRunning(draft);
  const { nodeId, iteration, attempt, name, correlation } = open;
  emit(draft, { type: 'SIGNAL_RECEIVED', nodeId, iteration, attempt, signalId: signal.signalId, name, correlation });
  advance(draft, [completeWait(draft, open, signalWaitOutput(open, signal), mainHandle)]);
}

/** The run that the node called has ended. */
export function endCall(draft: Draft, { node: ref, attempt, childRunId, end }: FactOf<'child-ended'>): void {
  const open = findOpenNode(draft, ref, attempt);
  if (open?.status !== 'waiting' || open.for !== 'child' || open.childRunId !== childRunId) return;
  markRunning(draft);
  if (end.status === 'cancelled' && open.onChildCancelled === 'cancel') {
    const reason = `the run ${childRunId} that node ${open.nodeId} called was cancelled`;
    return endRun(draft, { status: 'cancelled', reason });
  }
  const failure = failureOfChild(end, childRunId);
  if (failure !== undefined) return failWait(draft, open, failure);
  const output: Payload = { value: end.status === 'completed' ? end.output : null };
  advance(draft, [completeWait(draft, open, output, mainHandle)]);
}

/** Wakes the sleeping nodes in one decision, so that their successors are dispatched together. */
export function wakeEarly(draft: Draft, sleepers: readonly Sleeper[]): void {
  if (sleepers.length === 0) return;
  markRunning(draft);
  const woken = sleepers.map((open) => {
    const { nodeId, iteration, attempt } = open;
    emit(draft, { type: 'NODE_WOKEN', nodeId, iteration, attempt });
    return wakeUp(draft, open);
  });
  advance(draft, woken);
}

const wakeUp = (draft: Draft, open: Sleeper): PlanNodeRef => completeWait(draft, open, open.output, mainHandle);

function completeWait(draft: Draft, open: WaitingNode, output: Payload, handle: string): PlanNodeRef {
  const nodeRef = plannedNode(draft, open);
  emit(draft, completionEvent(nodeRef, { kind: 'finished', output, handle }, timesOf(draft, open)));
  return nodeRef;
}

/** Ends the wait with a failure; a retry is another call. */
function failWait(draft: Draft, open: ChildWait, failure: Failure): void {
  const nodeRef = plannedNode(draft, open);
  failOrRetry(draft, nodeRef, open, failure, timesOf(draft, open));
  if (!hasEnded(draft)) advance(draft, [nodeRef]);
}

/** The wait for a signal expired. There is no retry: it would wait again. */
function expire(draft: Draft, open: SignalWait): void {
  if (open.expiryHandle !== undefined)
    return advance(draft, [completeWait(draft, open, signalWaitOutput(open), open.expiryHandle)]);
  const nodeRef = plannedNode(draft, open);
  failNode(draft, nodeRef, signalExpired(open), open.attempt, timesOf(draft, open));
  if (!hasEnded(draft)) advance(draft, [nodeRef]);
}

const timesOf = ({ tools }: Draft, { attempt, dispatchedAt }: WaitingNode) => ({
  attempt,
  startedAt: dispatchedAt,
  endedAt: tools.now,
});
