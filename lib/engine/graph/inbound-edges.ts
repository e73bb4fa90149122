/** The inbound edges of nodes that one decision considers, and the join that they decide. */
import { type IterationKey, type NodeKey, nodeKey } from '../ids.ts';
import type { Draft } from './draft.ts';
import { type EdgeState, type JoinDecision, decideJoin, edgeState, edgeStateWithoutCondition } from './edges.ts';
import type { PlanEdge, PlanNodeRef } from './plan.ts';
import { WorkLimitExceeded } from './work-limits.ts';

/** Inbound edges of one node. Each edge is read once per decision, and its condition is evaluated once. */
interface Inbound {
  readonly unresolved: Set<PlanEdge>;
  /** live except for a condition that is not evaluated yet */
  readonly unevaluated: Set<PlanEdge>;
  /** states of the other edges */
  readonly states: Set<EdgeState>;
}

export class InboundEdges {
  /** of nodes that were considered and wait */
  readonly #inbound = new Map<NodeKey, Inbound>();
  /** whether a handled failure kept a skipped node from running; skipped nodes never change */
  readonly #stoppedByFailure = new Map<NodeKey, boolean>();

  /**
   * What the join of the node decides. A condition is evaluated only when the join depends on it.
   * @param resolved the edge that was followed to this node; absent: an entry from a loop into its body
   * @returns an error if the conditions exceed the work limit
   */
  decideJoin(draft: Draft, nodeRef: PlanNodeRef, resolved: PlanEdge | undefined): JoinDecision | WorkLimitExceeded {
    const { state, tools, work } = draft;
    const { node, iteration } = nodeRef;
    const { unresolved, unevaluated, states } = this.#read(draft, nodeRef, resolved);
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
    return decideJoin(unresolved.size === 0 ? states : new Set([...states, 'unresolved' as const]), node.policy);
  }

  #read(draft: Draft, { node, iteration }: PlanNodeRef, resolved: PlanEdge | undefined): Inbound {
    const { state } = draft;
    const key = nodeKey({ nodeId: node.id, iteration });
    const known = this.#inbound.get(key);
    const found: Inbound = known ?? { unresolved: new Set(), unevaluated: new Set(), states: new Set() };
    const toRead =
      known === undefined ? node.inbound : resolved !== undefined && known.unresolved.delete(resolved) ? [resolved] : [];
    for (const edge of toRead) {
      const plainState = edgeStateWithoutCondition(state, edge, iteration);
      const isStopped =
        node.policy.joinMode === 'allSucceeded' &&
        (plainState === 'live' || plainState === 'dead') &&
        this.#isStoppedByFailure(draft, edge, iteration);
      const currentState = isStopped ? 'failure_handled' : plainState;
      if (currentState === 'unresolved') found.unresolved.add(edge);
      else if (currentState === 'live' && edge.condition !== undefined) found.unevaluated.add(edge);
      else found.states.add(currentState);
    }
    this.#inbound.set(key, found);
    return found;
  }

  /**
   * Whether the source of this edge failed, or was skipped because a failure before it was handled on another branch. An explicit stack,
   * because a branch may have 2,000 nodes.
   */
  #isStoppedByFailure(draft: Draft, edge: PlanEdge, iteration: IterationKey): boolean {
    const stack: PlanEdge[] = [edge];
    for (let next = stack.at(-1); next !== undefined; next = stack.at(-1)) {
      const key = nodeKey({ nodeId: next.source, iteration });
      if (!this.#stoppedByFailure.has(key)) {
        const inbound = this.#inboundOfSkipped(draft, next, key);
        const unknown = inbound.filter(({ source }) => !this.#stoppedByFailure.has(nodeKey({ nodeId: source, iteration })));
        if (unknown.length > 0) {
          stack.push(...unknown);
          continue;
        }
        const source = draft.state.nodes.get(key);
        const hasFailed = source?.status === 'failed' || source?.status === 'timed_out';
        const isStopped = inbound.some(({ source: id }) => this.#stoppedByFailure.get(nodeKey({ nodeId: id, iteration })));
        this.#stoppedByFailure.set(key, hasFailed || isStopped);
      }
      stack.pop();
    }
    return this.#stoppedByFailure.get(nodeKey({ nodeId: edge.source, iteration })) === true;
  }

  /** The inbound edges of the edge's source, if it was skipped; an entry edge of a loop has no source in its iteration. */
  #inboundOfSkipped({ state, tools }: Draft, edge: PlanEdge, key: NodeKey): readonly PlanEdge[] {
    const isSkipped = edge.isEntry !== true && state.nodes.get(key)?.status === 'skipped';
    return isSkipped ? (tools.plan.nodes.get(edge.source)?.inbound ?? []) : [];
  }
}
