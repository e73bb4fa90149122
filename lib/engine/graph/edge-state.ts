/** What an edge has become, read from the state of its source alone: no edge is ever stored. */
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
  /** the source ended this way */
  | 'live'
  /** the source ended another way, or was itself not reached, or the edge's condition is not met */
  | 'dead'
  /** the source failed and no error edge took it: the target's policy decides */
  | 'source_failed'
  /** the source was skipped because of a failure further up */
  | 'upstream_failed';

/**
 * Judges the condition of an edge that has one. Throws `PayloadsNeeded` where the condition looks at an output that is stored apart and
 * not loaded yet.
 *
 * @param counter counts what the condition looks at
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

/** The state of an edge as if it had no condition: `live` means that the condition, if any, decides between `live` and `dead`. */
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
