/**
 * The iterations of a loop: each begins when the concurrency allows, and gives its result when all its nodes have ended. One decision
 * begins no more than one commit holds, and the fold does not grow with the number of items.
 */
import { emit, hasEnded } from '../decision.ts';
import { type IterationKey, iterationKeyOf, nodeKey } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { inline } from '../json.ts';
import { eventLimits } from '../log/event-limits.ts';
import type { Failure } from '../log/events.ts';
import type { LoopWait } from '../log/node-state.ts';
import { requireLoopIteration } from '../log/run-state.ts';
import { after } from '../time.ts';
import type { Draft } from './draft.ts';
import { firstFailure } from './finish-graph.ts';
import {
  allResults,
  failedItem,
  inlineItem,
  itemFailure,
  loopLimits,
  maxEventsPerDecision,
  maxPendingResultsSize,
  pageSizeOf,
  resultOf,
  serializeResults,
} from './loop-values.ts';
import { doneHandle } from './outcome.ts';
import type { PlanNode, PlanNodeRef } from './plan.ts';
import { completionEvent, failNode } from './record-outcome.ts';

/** The open loop of this node, if there is one. */
export function loopAt(draft: Draft, nodeRef: PlanNodeRef): LoopWait | undefined {
  const state = draft.state.nodes.get(keyOf(nodeRef));
  return state?.status === 'waiting' && state.for === 'iterations' ? state : undefined;
}

/** Begins as many iterations as the limits allow, and returns them. Completes a loop that has nothing left to begin or wait for. */
export function beginIterations(draft: Draft, nodeRef: PlanNodeRef): readonly IterationKey[] {
  const begun: IterationKey[] = [];
  for (let wait = loopAt(draft, nodeRef); wait !== undefined; wait = loopAt(draft, nodeRef)) {
    const { loop } = wait;
    if (loop.next === loop.items) {
      if (loop.open.length === 0) completeLoop(draft, nodeRef, wait);
      break;
    }
    if (loop.open.length >= loop.concurrency || (loop.wakeAt ?? draft.tools.now) > draft.tools.now) break;
    const iteration = iterationKeyOf(loopFields(nodeRef, wait), loop.next);
    // A pause that has ended was the delay between items; iterations that may run concurrently share one delay.
    const mustWait = loop.delayMs > 0 && loop.wakeAt === undefined && begun.length === 0 && loop.next > 0;
    if (
      mustWait ||
      draft.events.length >= maxEventsPerDecision ||
      !draft.work.reserveIteration(inlineBytesOfIteration(draft, nodeRef, iteration))
    ) {
      const wakeAt = mustWait ? after(draft.tools.now, loop.delayMs) : draft.tools.now;
      if (loop.wakeAt === undefined) emit(draft, { type: 'LOOP_PAUSED', ...loopFields(nodeRef, wait), wakeAt });
      break;
    }
    begun.push(iteration);
    emit(draft, { type: 'ITERATION_STARTED', ...loopFields(nodeRef, wait), index: loop.next, ...inlineItem(draft, loop) });
  }
  return begun;
}

/**
 * Bytes that an iteration may add to the decision that begins it. If an entry node needs no worker, all nodes of the body count,
 * because skips propagate through nodes that do.
 */
function inlineBytesOfIteration({ tools: { plan } }: Draft, { node }: PlanNodeRef, iteration: IterationKey): number {
  const { entries = [], body = [] } = plan.loops.get(node.id) ?? {};
  const endsInThisDecision = ({ id, isPure, policy }: PlanNode): boolean =>
    isPure || policy.isDisabled || plan.pinned?.has(id) === true;
  const reached = entries.some(endsInThisDecision) ? body : entries;
  return reached.reduce(
    (sum, { id, policy }) => sum + eventLimits.overhead + id.length + iteration.length + (policy.outputVariable?.length ?? 0),
    0,
  );
}

/** Records the result of an ended iteration; returns its loop, from which the decision continues. */
export function endIteration(draft: Draft, iteration: IterationKey): PlanNodeRef {
  const { loop: ref, index } = requireLoopIteration(draft.state, iteration);
  const [node, body] = [draft.tools.plan.nodes.get(ref.nodeId), draft.tools.plan.loops.get(ref.nodeId)];
  invariant(node !== undefined && body !== undefined, `the log names loop ${ref.nodeId}, which the pinned version does not have`);
  const nodeRef: PlanNodeRef = { node, iteration: ref.iteration };
  const wait = loopAt(draft, nodeRef);
  invariant(wait !== undefined, `an iteration of ${node.id} ended after its loop`);
  const failure = firstFailure(draft, body.leaves, iteration);
  const iterationFields = { type: 'ITERATION_ENDED' as const, ...loopFields(nodeRef, wait), index };
  if (failure === undefined) emit(draft, { ...iterationFields, status: 'completed', ...resultOf(draft, body, iteration) });
  else emit(draft, { ...iterationFields, status: 'failed', result: inline(failedItem(failure)) });

  const loopFailure =
    failure !== undefined && wait.loop.onItemFailure === 'fail' ? itemFailure(index, failure) : tooLarge(draft, nodeRef);
  if (loopFailure === undefined) storeResults(draft, nodeRef);
  else failNode(draft, nodeRef, loopFailure, wait.attempt, { startedAt: wait.loop.startedAt, endedAt: draft.tools.now });
  return nodeRef;
}

const keyOf = ({ node, iteration }: PlanNodeRef) => nodeKey({ nodeId: node.id, iteration });

const loopFields = ({ node, iteration }: PlanNodeRef, { attempt }: LoopWait) => ({ nodeId: node.id, iteration, attempt });

function completeLoop(draft: Draft, nodeRef: PlanNodeRef, { loop, attempt }: LoopWait): void {
  const output = inline(allResults(loop, draft.tools.loaded));
  const times = { attempt, startedAt: loop.startedAt, endedAt: draft.tools.now };
  if (!hasEnded(draft)) emit(draft, completionEvent(nodeRef, { kind: 'finished', output, handle: doneHandle }, times));
}

function tooLarge(draft: Draft, nodeRef: PlanNodeRef): Failure | undefined {
  const size = loopAt(draft, nodeRef)?.loop.totalSize ?? 0;
  if (size <= loopLimits.resultsBytes) return undefined;
  return {
    cause: 'invalid',
    code: 'loop_results_too_large',
    message: `the results of the loop have ${size} bytes so far; the limit is ${loopLimits.resultsBytes}`,
  };
}

function storeResults(draft: Draft, nodeRef: PlanNodeRef): void {
  const wait = loopAt(draft, nodeRef);
  if (wait === undefined) return;
  const { items, pendingResults, pendingSize } = wait.loop;
  if (pendingResults.length < pageSizeOf(items) && pendingSize < maxPendingResultsSize) return;
  emit(draft, { type: 'LOOP_RESULTS_STORED', ...loopFields(nodeRef, wait), results: inline(serializeResults(pendingResults)) });
}
