/**
 * The passes of a loop: each begins when there is room, and gives its result when all of it has ended. A decision neither
 * begins more of them than one commit holds, nor lets the fold grow with the number of items.
 */
import { type IterationKey, nodeKey, passKey } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type JsonObject, type JsonValue, type Payload, inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { eventLimits } from '../log/event-limits.ts';
import { type LoopState, sizeOf } from '../log/loop-state.ts';
import type { LoopWait } from '../log/node-state.ts';
import { passOf } from '../log/run-state.ts';
import { after } from '../time.ts';
import { doneHandle } from './bodies.ts';
import { completed } from './completed.ts';
import { itemOf, together, valueOf } from './context-at.ts';
import { type Draft, emit, hasEnded } from './draft.ts';
import { firstFailure } from './finish.ts';
import { largestFreshSize, largestTravellingItem, loopLimits, mostEventsTogether, pageSizeOf } from './loop-limits.ts';
import { allResults, storedResults } from './loop-results.ts';
import type { Place, PlanLoop, PlanNode } from './plan.ts';
import { fail } from './settle.ts';

/** The loop at this place, if it is at work. */
export function loopAt(draft: Draft, place: Place): LoopWait | undefined {
  const state = draft.state.nodes.get(keyOf(place));
  return state?.status === 'waiting' && state.for === 'passes' ? state : undefined;
}

/** Begins as many passes as there is room for, and says which; a loop with nothing left to begin or to wait for is completed. */
export function beginPasses(draft: Draft, place: Place): readonly IterationKey[] {
  const begun: IterationKey[] = [];
  for (let wait = loopAt(draft, place); wait !== undefined; wait = loopAt(draft, place)) {
    const { loop } = wait;
    if (loop.next === loop.items) {
      if (loop.open.length === 0) complete(draft, place, wait);
      break;
    }
    if (loop.open.length >= loop.concurrency || (loop.wakeAt ?? draft.tools.now) > draft.tools.now) break;
    const iteration = passKey(ofLoop(place, wait), loop.next);
    // A pause that is over was the wait between items; those that the concurrency lets in together wait together.
    const mustWait = loop.delayMs > 0 && loop.wakeAt === undefined && begun.length === 0 && loop.next > 0;
    if (
      mustWait ||
      draft.events.length >= mostEventsTogether ||
      !draft.work.hasRoomForPass(bytesAtOnce(draft, place, iteration))
    ) {
      const wakeAt = mustWait ? after(draft.tools.now, loop.delayMs) : draft.tools.now;
      if (loop.wakeAt === undefined) emit(draft, { type: 'LOOP_PAUSED', ...ofLoop(place, wait), wakeAt });
      break;
    }
    begun.push(iteration);
    emit(draft, { type: 'ITERATION_STARTED', ...ofLoop(place, wait), index: loop.next, ...travelling(draft, loop) });
  }
  return begun;
}

/**
 * What a pass may come to in the decision that begins it, as events are counted: all of it where a node that begins it needs no
 * worker, because skipping goes on through those that do.
 */
function bytesAtOnce({ tools: { plan } }: Draft, { node }: Place, iteration: IterationKey): number {
  const { entries = [], body = [] } = plan.loops.get(node.id) ?? {};
  const endsAtOnce = ({ id, isPure, policy }: PlanNode): boolean => isPure || policy.isDisabled || plan.pinned?.has(id) === true;
  const reached = entries.some(endsAtOnce) ? body : entries;
  return reached.reduce(
    (sum, { id, policy }) => sum + eventLimits.frame + id.length + iteration.length + (policy.outputVariable?.length ?? 0),
    0,
  );
}

/** Gives the result of a pass that has ended; the place of its loop is where it goes on. */
export function endPass(draft: Draft, iteration: IterationKey): Place {
  const { loop: ref, index } = passOf(draft.state, iteration);
  const [node, body] = [draft.tools.plan.nodes.get(ref.nodeId), draft.tools.plan.loops.get(ref.nodeId)];
  invariant(
    node !== undefined && body !== undefined,
    `the log goes through the loop ${ref.nodeId}, which the pinned version does not have`,
  );
  const place: Place = { node, iteration: ref.iteration };
  const wait = loopAt(draft, place);
  invariant(wait !== undefined, `a pass of ${node.id} has ended after its loop`);
  const failure = firstFailure(draft, body.leaves, iteration);
  const ofPass = { type: 'ITERATION_ENDED' as const, ...ofLoop(place, wait), index };
  if (failure === undefined) emit(draft, { ...ofPass, status: 'completed', ...resultOf(draft, body, iteration) });
  else emit(draft, { ...ofPass, status: 'failed', result: inline(failedItem(failure)) });

  const isOver =
    failure !== undefined && wait.loop.onItemFailure === 'fail' ? itemFailed(index, failure) : tooLarge(draft, place);
  if (isOver === undefined) keepResults(draft, place);
  else fail(draft, place, isOver, wait.attempt, { startedAt: wait.loop.startedAt, endedAt: draft.tools.now });
  return place;
}

const keyOf = ({ node, iteration }: Place) => nodeKey({ nodeId: node.id, iteration });

const ofLoop = ({ node, iteration }: Place, { attempt }: LoopWait) => ({ nodeId: node.id, iteration, attempt });

/** A small item is said with its pass, where it would have to be loaded otherwise. */
function travelling(draft: Draft, loop: LoopState): { readonly item?: Payload } {
  const page = loop.pages[Math.floor(loop.next / loop.pageSize)];
  if (page === undefined || 'value' in page) return {};
  const item = inline(itemOf(loop, { index: loop.next }, draft.tools.loaded));
  return sizeOf(item) > largestTravellingItem ? {} : { item };
}

function complete(draft: Draft, place: Place, { loop, attempt }: LoopWait): void {
  const output = inline(allResults(loop, draft.tools.loaded));
  const times = { attempt, startedAt: loop.startedAt, endedAt: draft.tools.now };
  if (!hasEnded(draft)) emit(draft, completed(place, { kind: 'finished', output, handle: doneHandle }, times));
}

/** The output of the node that the pass ended with; of several, all of them by their labels; of none, null. */
function resultOf(draft: Draft, { ends }: PlanLoop, iteration: IterationKey) {
  const ended = ends.flatMap((node) => {
    const state = draft.state.nodes.get(nodeKey({ nodeId: node.id, iteration }));
    return state?.status === 'completed' ? [{ node, output: state.output }] : [];
  });
  const [only] = ended;
  if (only === undefined) return { result: inline(null) };
  if (ended.length === 1) return { from: only.node.id };
  const values = together(
    ended.map(({ node, output }) => (): readonly [string, JsonValue] => [
      nameOf(node, ends),
      valueOf(output, draft.tools.loaded),
    ]),
  );
  return { result: inline(Object.fromEntries(values)) };
}

const nameOf = (node: PlanNode, all: readonly PlanNode[]): string =>
  node.label === undefined || all.some((other) => other !== node && other.label === node.label) ? node.id : node.label;

const failedItem = ({ cause, message, code, details }: Failure): JsonObject => ({
  success: false,
  error: { cause, message, ...(code === undefined ? {} : { code }), ...(details === undefined ? {} : { details }) },
});

/** The loop's own failure. It took no time limit of its own: a body that did is said in the details. */
const itemFailed = (index: number, { cause, message, details }: Failure): Failure => ({
  cause: cause === 'timeout' ? 'error' : cause,
  code: 'loop_item_failed',
  message: `item ${index} failed: ${message}`,
  details: { index, itemCause: cause, ...(details?.['nodeId'] === undefined ? {} : { itemNodeId: details['nodeId'] }) },
});

function tooLarge(draft: Draft, place: Place): Failure | undefined {
  const size = loopAt(draft, place)?.loop.size ?? 0;
  if (size <= loopLimits.resultsBytes) return undefined;
  return {
    cause: 'invalid',
    code: 'loop_results_too_large',
    message: `the results of a loop are at most ${loopLimits.resultsBytes} bytes together, and these ${size} already`,
  };
}

function keepResults(draft: Draft, place: Place): void {
  const wait = loopAt(draft, place);
  if (wait === undefined) return;
  const { items, fresh, freshSize } = wait.loop;
  if (fresh.length < pageSizeOf(items) && freshSize < largestFreshSize) return;
  emit(draft, { type: 'LOOP_RESULTS_KEPT', ...ofLoop(place, wait), results: inline(storedResults(fresh)) });
}
