/**
 * Decides what follows from nodes that have just ended: joins fire, dead branches are skipped, pure nodes are evaluated at once, and
 * loops begin and end iterations. The remaining ready nodes are dispatched together at the end, when their number is known.
 */
import { defined } from '../../base/defined.ts';
import { type IterationKey, type NodeKey, firstAttempt, nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { inline } from '../json.ts';
import type { SkipReason, Via } from '../log/events.ts';
import { openNodes } from '../log/fold.ts';
import { isOpen } from '../log/node-state.ts';
import { checkExecutionBudget } from './budget.ts';
import { type Draft, emit, hasEnded, canRunOneInline } from './draft.ts';
import { type EdgeState, edgeState, edgeStateWithoutCondition, decideJoin } from './edges.ts';
import { finishGraph } from './finish-graph.ts';
import { nodeInputOf } from './inputs.ts';
import { completionEvent, failNode, recordOutcome } from './record-outcome.ts';
import { type Outcome, doneHandle, mainHandle } from './outcome.ts';
import { beginIterations, endIteration, loopAt } from './iterations.ts';
import type { PinnedOutput } from './pinned-outputs.ts';
import type { PlanNodeRef, PlanEdge } from './plan.ts';
import { DecisionLimitReached, WorkLimitExceeded } from './work-limits.ts';

/**
 * With more open siblings than this, results go to the results queue: that many direct commits would lose more puts than they win.
 * In the simulation, 10 branches within 2 s lose 9 puts.
 */
export const maxDirectSiblings = 8;

/** The state of one decision while it follows the graph. */
interface Traversal {
  readonly draft: Draft;
  /** to be dispatched at the end */
  readonly ready: PlanNodeRef[];
  /** ended, and their edges not followed yet */
  readonly work: PlanNodeRef[];
  readonly seen: Set<NodeKey>;
  /** inbound edges of nodes that were considered and wait */
  readonly inbound: Map<NodeKey, Inbound>;
}

/** Inbound edges of one node. Each edge is read once per decision, and its condition is evaluated once. */
interface Inbound {
  readonly unresolved: Set<PlanEdge>;
  /** live except for a condition that is not evaluated yet */
  readonly unevaluated: Set<PlanEdge>;
  /** states of the other edges */
  readonly states: Set<EdgeState>;
}

/** Decides all that follows from `begin` (the roots of a new run) and from the nodes that ended in this draft. */
export function advance(draft: Draft, ended: readonly PlanNodeRef[], begin: readonly PlanNodeRef[] = []): void {
  const traversal: Traversal = { draft, ready: [], work: [...ended], seen: new Set(), inbound: new Map() };
  for (const nodeRef of begin) fire(traversal, nodeRef);
  for (let nodeRef = traversal.work.shift(); nodeRef !== undefined && !hasEnded(draft); nodeRef = traversal.work.shift()) {
    // A failed loop has ended its other iterations.
    if (isActive(draft, nodeRef)) follow(traversal, nodeRef);
  }
  if (hasEnded(draft)) return;
  dispatch(
    draft,
    traversal.ready.filter((nodeRef) => isActive(draft, nodeRef)),
  );
  if (!hasEnded(draft) && draft.state.open.size === 0) finishGraph(draft);
}

const keyOf = ({ node, iteration }: PlanNodeRef): NodeKey => nodeKey({ nodeId: node.id, iteration });

const isActive = ({ state }: Draft, { iteration }: PlanNodeRef): boolean =>
  iteration === topLevel || state.iterations.has(iteration);

function follow(traversal: Traversal, nodeRef: PlanNodeRef): void {
  const { draft, work } = traversal;
  if (loopAt(draft, nodeRef) !== undefined) {
    for (const iteration of beginIterations(draft, nodeRef))
      for (const node of draft.tools.plan.loops.get(nodeRef.node.id)?.entries ?? []) consider(traversal, { node, iteration });
  }
  for (const edge of hasJustEnded(draft, nodeRef) ? nodeRef.node.outbound : []) {
    const node = draft.tools.plan.nodes.get(edge.target);
    invariant(node !== undefined, `the plan has an edge to node ${edge.target} and no such node`);
    consider(traversal, { node, iteration: nodeRef.iteration }, edge);
  }
  if (!hasEnded(draft) && isIterationDone(traversal, nodeRef.iteration)) work.push(endIteration(draft, nodeRef.iteration));
}

/** Whether every node of this iteration has ended and nothing of it is still to be followed or dispatched. */
function isIterationDone({ draft, ready, work }: Traversal, iteration: IterationKey): boolean {
  if (draft.state.iterations.get(iteration)?.open !== 0) return false;
  return [...ready, ...work].every((nodeRef) => nodeRef.iteration !== iteration);
}

function fire(traversal: Traversal, nodeRef: PlanNodeRef): void {
  const { draft, ready, work, seen } = traversal;
  const { node } = nodeRef;
  if (hasEnded(draft)) return;
  seen.add(keyOf(nodeRef));
  const pin = draft.tools.plan.pinned?.get(node.id);
  if (pin !== undefined) {
    completePinned(draft, nodeRef, pin);
  } else if (node.policy.isDisabled) {
    recordOutcome(draft, nodeRef, { kind: 'finished', output: inline(null), handle: node.isLoop ? doneHandle : mainHandle });
  } else if (node.isPure) {
    const outcome = evaluateInline(draft, nodeRef);
    if (outcome === undefined) return void ready.push(nodeRef);
    recordOutcome(draft, nodeRef, outcome);
  } else {
    ready.push(nodeRef);
    return;
  }
  work.push(nodeRef);
}

/** Undefined if the decision has reached its work limit; then a worker evaluates the node. */
function evaluateInline(draft: Draft, { node, iteration }: PlanNodeRef): Outcome | undefined {
  if (draft.work.isFull) return undefined;
  const { plan, loaded, evaluate, now } = draft.tools;
  try {
    return evaluate(node, nodeInputOf(plan, node, iteration, draft.state, draft.state.nextEventId, loaded, draft.work), now);
  } catch (error) {
    if (error instanceof DecisionLimitReached) return undefined;
    throw error;
  }
}

const hasJustEnded = (draft: Draft, nodeRef: PlanNodeRef): boolean => {
  const state = draft.state.nodes.get(keyOf(nodeRef));
  return state !== undefined && !isOpen(state);
};

/** @param resolved the edge that was followed to this node; absent: an entry from a loop into its body */
function consider(traversal: Traversal, nodeRef: PlanNodeRef, resolved?: PlanEdge): void {
  const { draft, work, seen } = traversal;
  const { node, iteration } = nodeRef;
  const key = keyOf(nodeRef);
  if (hasEnded(draft) || seen.has(key) || draft.state.nodes.has(key)) return;
  const ended = (): void => {
    seen.add(key);
    work.push(nodeRef);
  };
  const skip = (reason: SkipReason): void => {
    emit(draft, { type: 'NODE_SKIPPED', nodeId: node.id, iteration, reason });
    ended();
  };
  const edges = inboundStates(traversal, nodeRef, resolved);
  if (edges instanceof WorkLimitExceeded) {
    failNode(draft, nodeRef, { cause: 'invalid', code: edges.code, message: edges.message });
    return ended();
  }
  switch (decideJoin(edges, node.policy)) {
    case 'wait':
      return;
    case 'fire':
      return fire(traversal, nodeRef);
    case 'skip_branch':
      return skip('branch_not_taken');
    case 'skip_parent':
      return skip('parent_not_successful');
    case 'upstream_failure':
      failNode(draft, nodeRef, { cause: 'upstream_failure', message: 'upstream_failure', code: 'upstream_failure' });
      return ended();
  }
}

/** The states of the inbound edges. A condition is evaluated only when the join depends on it. */
function inboundStates(
  traversal: Traversal,
  nodeRef: PlanNodeRef,
  resolved: PlanEdge | undefined,
): ReadonlySet<EdgeState> | WorkLimitExceeded {
  const { state, tools, work } = traversal.draft;
  const { node, iteration } = nodeRef;
  const { unresolved, unevaluated, states } = inboundOf(traversal, nodeRef, resolved);
  const isAnyJoin = node.policy.joinMode === 'any';
  try {
    for (const edge of isAnyJoin || unresolved.size === 0 ? unevaluated : []) {
      if (isAnyJoin && states.has('live')) break;
      states.add(edgeState(state, edge, iteration, tools.loaded, work));
      unevaluated.delete(edge);
    }
  } catch (error) {
    if (error instanceof WorkLimitExceeded) return error;
    throw error;
  }
  return unresolved.size === 0 ? states : new Set([...states, 'unresolved' as const]);
}

function inboundOf({ draft, inbound }: Traversal, nodeRef: PlanNodeRef, resolved: PlanEdge | undefined): Inbound {
  const key = keyOf(nodeRef);
  const known = inbound.get(key);
  const found: Inbound = known ?? { unresolved: new Set(), unevaluated: new Set(), states: new Set() };
  const toRead =
    known === undefined ? nodeRef.node.inbound : resolved !== undefined && known.unresolved.delete(resolved) ? [resolved] : [];
  for (const edge of toRead) {
    const currentState = edgeStateWithoutCondition(draft.state, edge, nodeRef.iteration);
    if (currentState === 'unresolved') found.unresolved.add(edge);
    else if (currentState === 'live' && edge.condition !== undefined) found.unevaluated.add(edge);
    else found.states.add(currentState);
  }
  inbound.set(key, found);
  return found;
}

/** A pinned node does not run: it completes with the pinned output. */
function completePinned(draft: Draft, nodeRef: PlanNodeRef, { output, handle }: PinnedOutput): void {
  const { now } = draft.tools;
  const times = { attempt: firstAttempt, startedAt: now, endedAt: now };
  const resolvedHandle = handle ?? (nodeRef.node.isLoop ? doneHandle : mainHandle);
  emit(draft, {
    ...completionEvent(nodeRef, { kind: 'finished', output: inline(output), handle: resolvedHandle }, times),
    isPinned: true,
  });
}

/** Dispatches the ready nodes: one inline where the decider may run it, and a wide fan-out through the results queue. */
function dispatch(draft: Draft, ready: readonly PlanNodeRef[]): void {
  const workingCount = openNodes(draft.state).filter(({ status }) => status !== 'waiting').length;
  const isWideFanOut = workingCount + ready.length > maxDirectSiblings;
  if (
    !checkExecutionBudget(
      draft,
      ready.filter(({ node }) => !node.isPure).map(({ node, iteration }) => ({ nodeId: node.id, iteration })),
    )
  )
    return;
  for (const { node, iteration } of ready) {
    const via: Via = isWideFanOut ? 'collect' : canRunOneInline(draft) ? 'inline' : 'queue';
    emit(
      draft,
      defined({
        type: 'NODE_DISPATCHED',
        nodeId: node.id,
        iteration,
        attempt: firstAttempt,
        via,
        wave: node.wave,
        isPure: node.isPure ? (true as const) : undefined,
      }),
    );
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
