/**
 * The iterations of a loop: each begins when the concurrency allows, and gives its result when all its nodes have ended. One decision
 * begins no more than one commit holds, and the fold does not grow with the number of items.
 */
import { defined } from '../../base/defined.ts';
import { type IterationKey, nodeKey, iterationKeyOf } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type JsonObject, type JsonValue, type Payload, type PayloadRef, inline, isJsonArray, isJsonObject } from '../json.ts';
import { eventLimits } from '../log/event-limits.ts';
import type { Failure } from '../log/events.ts';
import { type LoopState, type LoopWait, type IterationResult, payloadSize } from '../log/node-state.ts';
import { requireLoopIteration } from '../log/run-state.ts';
import { after } from '../time.ts';
import { type LoadedPayloads, itemOf, readAll, valueOf } from './context.ts';
import { type Draft, emit, hasEnded } from './draft.ts';
import { firstFailure } from './finish-graph.ts';
import { doneHandle } from './outcome.ts';
import { maxPendingResultsSize, maxInlineItemSize, loopLimits, maxEventsPerDecision, pageSizeOf } from './loop-limits.ts';
import type { PlanNodeRef, PlanLoop, PlanNode } from './plan.ts';
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

/** Puts a small item into the start event if readers would have to load its page otherwise. */
function inlineItem(draft: Draft, loop: LoopState): { readonly item?: Payload } {
  const page = loop.pages[Math.floor(loop.next / loop.pageSize)];
  if (page === undefined || 'value' in page) return {};
  const item = inline(itemOf(loop, { index: loop.next }, draft.tools.loaded));
  return payloadSize(item) > maxInlineItemSize ? {} : { item };
}

function completeLoop(draft: Draft, nodeRef: PlanNodeRef, { loop, attempt }: LoopWait): void {
  const output = inline(allResults(loop, draft.tools.loaded));
  const times = { attempt, startedAt: loop.startedAt, endedAt: draft.tools.now };
  if (!hasEnded(draft)) emit(draft, completionEvent(nodeRef, { kind: 'finished', output, handle: doneHandle }, times));
}

/** The output of the node that ended the iteration; of several nodes, their outputs by label; of none, null. */
function resultOf(draft: Draft, { resultNodes }: PlanLoop, iteration: IterationKey) {
  const ended = resultNodes.flatMap((node) => {
    const state = draft.state.nodes.get(nodeKey({ nodeId: node.id, iteration }));
    return state?.status === 'completed' ? [{ node, output: state.output }] : [];
  });
  const [only] = ended;
  if (only === undefined) return { result: inline(null) };
  if (ended.length === 1) return { from: only.node.id };
  const values = readAll(
    ended.map(({ node, output }) => (): readonly [string, JsonValue] => [
      labelOf(node, resultNodes),
      valueOf(output, draft.tools.loaded),
    ]),
  );
  return { result: inline(Object.fromEntries(values)) };
}

const labelOf = (node: PlanNode, all: readonly PlanNode[]): string =>
  node.label === undefined || all.some((other) => other !== node && other.label === node.label) ? node.id : node.label;

const failedItem = ({ cause, message, code, details }: Failure): JsonObject => ({
  success: false,
  error: defined({ cause, message, code, details }),
});

/** The failure of the loop. A timeout in its body is not the loop's own timeout; the details name it. */
const itemFailure = (index: number, { cause, message, details }: Failure): Failure => ({
  cause: cause === 'timeout' ? 'error' : cause,
  code: 'loop_item_failed',
  message: `item ${index} failed: ${message}`,
  details: defined({ index, itemCause: cause, itemNodeId: details?.['nodeId'] === undefined ? undefined : details['nodeId'] }),
});

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

/** The results of iterations as they are stored; `parseResults` reads them back. */
export const serializeResults = (results: readonly IterationResult[]): readonly JsonObject[] =>
  results.map(({ index, payload }) => ({
    index,
    payload: 'ref' in payload ? { ref: payload.ref, bytes: payload.bytes } : { value: payload.value },
  }));

/** All results in the order of the items. Throws `PayloadsNeeded` for stored pages that are not loaded. */
export function allResults(
  { stored: storedPages, pendingResults, items }: LoopState,
  loaded: LoadedPayloads,
): readonly JsonValue[] {
  const storedResults = readAll(storedPages.map((page) => () => parseResults(valueOf(page, loaded)))).flat();
  const values = readAll(
    [...storedResults, ...pendingResults].map(({ index, payload }) => () => ({ index, value: valueOf(payload, loaded) })),
  );
  const inOrder: JsonValue[] = Array.from({ length: items }, () => null);
  for (const { index, value } of values) inOrder[index] = value;
  return inOrder;
}

const parseResults = (page: JsonValue): readonly IterationResult[] => {
  invariant(isJsonArray(page), 'a page of stored results is not an array');
  return page.map((entry) => {
    invariant(isJsonObject(entry), 'a stored result is not an object');
    const { index, payload } = entry;
    invariant(typeof index === 'number' && isJsonObject(payload), 'a stored result has no index or payload');
    return { index, payload: parsePayload(payload) };
  });
};

function parsePayload({ value, ref, bytes }: JsonObject): Payload {
  if (value !== undefined) return { value };
  invariant(isRef(ref) && typeof bytes === 'number', 'a stored result has no value');
  return { ref, bytes };
}

const isRef = (ref: JsonValue | undefined): ref is PayloadRef => typeof ref === 'string' && /^(item|blob):./.test(ref);
