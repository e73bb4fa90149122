/**
 * What follows from the nodes that have just ended: joins fire, dead branches are skipped, pure nodes are decided
 * on the spot, loops begin and end their passes, and the others are dispatched together at the end, when it is known
 * how many siblings they have.
 */
import { type IterationKey, type NodeKey, firstAttempt, nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { inline } from '../json.ts';
import type { SkipReason, Via } from '../log/events.ts';
import { openNodes } from '../log/fold.ts';
import { isOpen } from '../log/node-state.ts';
import { doneHandle } from './bodies.ts';
import { mayExecute } from './budget.ts';
import { type Draft, emit, hasEnded, mayKeepOne } from './draft.ts';
import { type EdgeState, edgeState, edgeStateUnjudged } from './edge-state.ts';
import { finish } from './finish.ts';
import { inputOf } from './inputs.ts';
import { verdict } from './join.ts';
import { completed } from './completed.ts';
import { type Outcome, mainHandle } from './outcome.ts';
import { beginPasses, endPass, loopAt } from './passes.ts';
import type { PinnedOutput } from './pins.ts';
import type { Place, PlanEdge } from './plan.ts';
import { fail, settle } from './settle.ts';
import { DecisionIsFull, TooMuchWork } from './work.ts';

/**
 * More open siblings than this, and results go over the results queue: that many direct commits would lose
 * more puts than they win. From the simulation's figures: 10 branches within 2 s lose 9 puts.
 */
export const mostDirectSiblings = 8;

/** What one decision still has to look at. */
interface Round {
  readonly draft: Draft;
  /** to be dispatched */
  readonly ready: Place[];
  /** decided, and not yet followed */
  readonly work: Place[];
  readonly seen: Set<NodeKey>;
  /** of the places that were looked at and not decided */
  readonly inbound: Map<NodeKey, Inbound>;
}

/** What is known of the edges into one place. Each edge is read, and its condition judged, once in a decision. */
interface Inbound {
  readonly unresolved: Set<PlanEdge>;
  /** their conditions decide between `live` and `dead`, and are not judged yet */
  readonly unjudged: Set<PlanEdge>;
  /** of the other edges */
  readonly states: Set<EdgeState>;
}

/** Decides all that follows from `begin` (the roots of a new run) or from the places that ended in this draft. */
export function advance(draft: Draft, ended: readonly Place[], begin: readonly Place[] = []): void {
  const round: Round = { draft, ready: [], work: [...ended], seen: new Set(), inbound: new Map() };
  for (const place of begin) fire(round, place);
  for (let place = round.work.shift(); place !== undefined && !hasEnded(draft); place = round.work.shift()) {
    // A loop that failed has taken its other passes with it.
    if (isUnderWay(draft, place)) follow(round, place);
  }
  if (hasEnded(draft)) return;
  dispatch(
    draft,
    round.ready.filter((place) => isUnderWay(draft, place)),
  );
  if (!hasEnded(draft) && draft.state.open.size === 0) finish(draft);
}

const keyOf = ({ node, iteration }: Place): NodeKey => nodeKey({ nodeId: node.id, iteration });

const isUnderWay = ({ state }: Draft, { iteration }: Place): boolean => iteration === topLevel || state.passes.has(iteration);

function follow(round: Round, place: Place): void {
  const { draft, work } = round;
  if (loopAt(draft, place) !== undefined) {
    for (const iteration of beginPasses(draft, place))
      for (const node of draft.tools.plan.loops.get(place.node.id)?.entries ?? []) consider(round, { node, iteration });
  }
  for (const edge of hasJustEnded(draft, place) ? place.node.outbound : []) {
    const node = draft.tools.plan.nodes.get(edge.target);
    invariant(node !== undefined, `the plan has an edge to ${edge.target}, which it does not have`);
    consider(round, { node, iteration: place.iteration }, edge);
  }
  if (!hasEnded(draft) && isThrough(round, place.iteration)) work.push(endPass(draft, place.iteration));
}

/** Has all of this pass ended? Only its nodes' ends are asked for: what they lead to has been decided by then. */
function isThrough({ draft, ready, work }: Round, iteration: IterationKey): boolean {
  if (draft.state.passes.get(iteration)?.open !== 0) return false;
  return [...ready, ...work].every((place) => place.iteration !== iteration);
}

function fire(round: Round, place: Place): void {
  const { draft, ready, work, seen } = round;
  const { node } = place;
  if (hasEnded(draft)) return;
  seen.add(keyOf(place));
  const pin = draft.tools.plan.pinned?.get(node.id);
  if (pin !== undefined) {
    endPinned(draft, place, pin);
  } else if (node.policy.isDisabled) {
    settle(draft, place, { kind: 'finished', output: inline(null), handle: node.isLoop ? doneHandle : mainHandle });
  } else if (node.isPure) {
    const outcome = evaluated(draft, place);
    if (outcome === undefined) return void ready.push(place);
    settle(draft, place, outcome);
  } else {
    ready.push(place);
    return;
  }
  work.push(place);
}

/** Undefined where the decision has come to as much as it may: then a worker decides the node for itself. */
function evaluated(draft: Draft, { node, iteration }: Place): Outcome | undefined {
  if (draft.work.isFull) return undefined;
  const { plan, loaded, evaluate, now } = draft.tools;
  try {
    return evaluate(node, inputOf(plan, node, iteration, draft.state, draft.state.nextEventId, loaded, draft.work), now);
  } catch (trouble) {
    if (trouble instanceof DecisionIsFull) return undefined;
    throw trouble;
  }
}

const hasJustEnded = (draft: Draft, place: Place): boolean => {
  const state = draft.state.nodes.get(keyOf(place));
  return state !== undefined && !isOpen(state);
};

/** @param resolved the edge that leads here from the place that is followed; absent: from a loop into its body */
function consider(round: Round, place: Place, resolved?: PlanEdge): void {
  const { draft, work, seen } = round;
  const { node, iteration } = place;
  const key = keyOf(place);
  if (hasEnded(draft) || seen.has(key) || draft.state.nodes.has(key)) return;
  const ended = (): void => {
    seen.add(key);
    work.push(place);
  };
  const skip = (reason: SkipReason): void => {
    emit(draft, { type: 'NODE_SKIPPED', nodeId: node.id, iteration, reason });
    ended();
  };
  const edges = statesInto(round, place, resolved);
  if (edges instanceof TooMuchWork) {
    fail(draft, place, { cause: 'invalid', code: edges.code, message: edges.message });
    return ended();
  }
  switch (verdict(edges, node.policy)) {
    case 'wait':
      return;
    case 'fire':
      return fire(round, place);
    case 'skip_branch':
      return skip('branch_not_taken');
    case 'skip_parent':
      return skip('parent_not_successful');
    case 'upstream_failure':
      fail(draft, place, { cause: 'upstream_failure', message: 'upstream_failure', code: 'upstream_failure' });
      return ended();
  }
}

/** The states that the edges into a place have. Conditions are judged when the answer depends on them. */
function statesInto(round: Round, place: Place, resolved: PlanEdge | undefined): ReadonlySet<EdgeState> | TooMuchWork {
  const { state, tools, work } = round.draft;
  const { node, iteration } = place;
  const { unresolved, unjudged, states } = inboundOf(round, place, resolved);
  const isFirstEnough = node.policy.joinMode === 'any';
  try {
    for (const edge of isFirstEnough || unresolved.size === 0 ? unjudged : []) {
      if (isFirstEnough && states.has('live')) break;
      states.add(edgeState(state, edge, iteration, tools.loaded, work));
      unjudged.delete(edge);
    }
  } catch (trouble) {
    if (trouble instanceof TooMuchWork) return trouble;
    throw trouble;
  }
  return unresolved.size === 0 ? states : new Set([...states, 'unresolved' as const]);
}

function inboundOf({ draft, inbound }: Round, place: Place, resolved: PlanEdge | undefined): Inbound {
  const key = keyOf(place);
  const known = inbound.get(key);
  const found: Inbound = known ?? { unresolved: new Set(), unjudged: new Set(), states: new Set() };
  const toRead =
    known === undefined ? place.node.inbound : resolved !== undefined && known.unresolved.delete(resolved) ? [resolved] : [];
  for (const edge of toRead) {
    const edgeNow = edgeStateUnjudged(draft.state, edge, place.iteration);
    if (edgeNow === 'unresolved') found.unresolved.add(edge);
    else if (edgeNow === 'live' && edge.condition !== undefined) found.unjudged.add(edge);
    else found.states.add(edgeNow);
  }
  inbound.set(key, found);
  return found;
}

/** A pinned node is not run, whatever it is: it ends with what was pinned. */
function endPinned(draft: Draft, place: Place, { output, handle }: PinnedOutput): void {
  const { now } = draft.tools;
  const times = { attempt: firstAttempt, startedAt: now, endedAt: now };
  const way = handle ?? (place.node.isLoop ? doneHandle : mainHandle);
  emit(draft, { ...completed(place, { kind: 'finished', output: inline(output), handle: way }, times), isPinned: true });
}

/** Asks for the ready nodes: one goes on here, where it may; many together send their results to be collected. */
function dispatch(draft: Draft, ready: readonly Place[]): void {
  const working = openNodes(draft.state).filter(({ status }) => status !== 'waiting').length;
  const isCrowded = working + ready.length > mostDirectSiblings;
  if (
    !mayExecute(
      draft,
      ready.filter(({ node }) => !node.isPure).map(({ node, iteration }) => ({ nodeId: node.id, iteration })),
    )
  )
    return;
  for (const { node, iteration } of ready) {
    const via: Via = isCrowded ? 'collect' : mayKeepOne(draft) ? 'inline' : 'queue';
    emit(draft, {
      type: 'NODE_DISPATCHED',
      nodeId: node.id,
      iteration,
      attempt: firstAttempt,
      via,
      wave: node.wave,
      ...(node.isPure ? { isPure: true as const } : {}),
    });
    if (via === 'inline') {
      emit(draft, {
        type: 'NODE_STARTED',
        nodeId: node.id,
        iteration,
        attempt: firstAttempt,
        startedAt: draft.tools.now,
      });
    }
  }
}
