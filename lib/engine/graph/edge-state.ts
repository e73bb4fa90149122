/** The state of an edge, derived from the state of its source; no edge state is stored. */
import { type IterationKey, nodeKey } from '../ids.ts';
import type { RunState } from '../log/fold.ts';
import { isOpen } from '../log/node-state.ts';
import type { LoadedPayloads } from './context-at.ts';
import type { Counter } from '../compare.ts';
import { isConditionMet } from './edge-condition.ts';
import { errorHandle, handleMatches } from './outcome.ts';
import type { PlanEdge } from './plan.ts';

export type EdgeState =
  /** the source has not ended */
  | 'unresolved'
  /** the source ended by this edge's handle */
  | 'live'
  /** the source ended by another handle or was skipped, or the edge's condition is not met */
  | 'dead'
  /** the source failed without an error edge: the target's policy decides */
  | 'source_failed'
  /** the source was skipped because of an earlier failure */
  | 'upstream_failed';

/**
 * Evaluates the edge's condition. Throws `PayloadsNeeded` if the condition needs an output that is offloaded and not loaded.
 *
 * @param counter counts the work of the condition
 */
export function edgeState(
  state: RunState,
  edge: PlanEdge,
  iteration: IterationKey,
  loaded: LoadedPayloads,
  counter: Counter,
): EdgeState {
  const before = edgeStateWithoutCondition(state, edge, iteration);
  if (before !== 'live' || edge.condition === undefined) return before;
  const source = state.nodes.get(nodeKey({ nodeId: edge.source, iteration }));
  return source !== undefined && isConditionMet(edge, source, loaded, counter) ? 'live' : 'dead';
}

/** The state without the condition: `live` means that the condition, if any, decides between `live` and `dead`. */
export function edgeStateWithoutCondition(state: RunState, edge: PlanEdge, iteration: IterationKey): EdgeState {
  if (edge.isEntry === true) return 'live';
  const source = state.nodes.get(nodeKey({ nodeId: edge.source, iteration }));
  if (source === undefined || isOpen(source)) return 'unresolved';
  switch (source.status) {
    case 'completed':
      return handleMatches(edge.sourceHandle, source.handle) ? 'live' : 'dead';
    case 'failed':
    case 'timed_out':
      if (!source.isHandled) return 'source_failed';
      return edge.sourceHandle === errorHandle ? 'live' : 'dead';
    case 'skipped':
      return source.reason === 'branch_not_taken' ? 'dead' : 'upstream_failed';
    case 'cancelled':
      return 'source_failed';
  }
}
