/**
 * Decides what follows from nodes that have just ended: joins fire, dead branches are skipped, pure nodes are evaluated at once, and
 * loops begin and end iterations. The remaining ready nodes are dispatched together at the end, when their number is known.
 */
import { type IterationKey, type NodeKey, nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { SkipReason } from '../log/events.ts';
import { isOpen } from '../log/node-state.ts';
import { emit, hasEnded } from '../decision.ts';
import { dispatchReady } from './dispatch.ts';
import type { Draft } from './draft.ts';
import { InboundEdges } from './inbound-edges.ts';
import { finishGraph } from './finish-graph.ts';
import { nodeInputOf } from './inputs.ts';
import { completeDisabled, completePinned, failNode, recordOutcome } from './record-outcome.ts';
import type { Outcome } from './outcome.ts';
import { beginIterations, endIteration, loopAt } from './iterations.ts';
import type { PlanNodeRef, PlanEdge } from './plan.ts';
import { DecisionLimitReached, WorkLimitExceeded } from './work-limits.ts';

/** The state of one decision while it follows the graph. */
interface Traversal {
  readonly draft: Draft;
  /** to be dispatched at the end */
  readonly ready: PlanNodeRef[];
  /** ended, and their edges not followed yet */
  readonly work: PlanNodeRef[];
  readonly seen: Set<NodeKey>;
  /** inbound edges of nodes that were considered and wait */
  readonly inbound: InboundEdges;
}

/** Decides all that follows from `begin` (the roots of a new run) and from the nodes that ended in this draft. */
export function advance(draft: Draft, ended: readonly PlanNodeRef[], begin: readonly PlanNodeRef[] = []): void {
  const traversal: Traversal = { draft, ready: [], work: [...ended], seen: new Set(), inbound: new InboundEdges() };
  for (const nodeRef of begin) fire(traversal, nodeRef);
  for (let nodeRef = traversal.work.shift(); nodeRef !== undefined && !hasEnded(draft); nodeRef = traversal.work.shift()) {
    // A failed loop has ended its other iterations.
    if (isActive(draft, nodeRef)) follow(traversal, nodeRef);
  }
  if (hasEnded(draft)) return;
  dispatchReady(
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
    completeDisabled(draft, nodeRef);
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
  const { draft, work, seen, inbound } = traversal;
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
  const decision = inbound.decideJoin(draft, nodeRef, resolved);
  if (decision instanceof WorkLimitExceeded) {
    failNode(draft, nodeRef, { cause: 'invalid', code: decision.code, message: decision.message });
    return ended();
  }
  switch (decision) {
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
