/** Decides when a node fires, from the states of its inbound edges. A decision other than `wait` is final. */
import type { EdgeState } from './edge-state.ts';
import type { NodePolicy } from './plan.ts';

export type JoinDecision = 'wait' | 'fire' | 'skip_branch' | 'skip_parent' | 'upstream_failure';

/**
 * `any` fires on the first live edge. Otherwise all edges must be resolved first. Then the node's policy decides about a failed parent;
 * without one, a single live edge is enough. A node cut off by an earlier failure is skipped with that reason, so that the run does not
 * count as a success, unless its policy substitutes a default.
 * @param edges the states of the node's inbound edges
 */
export function decideJoin(
  edges: ReadonlySet<EdgeState>,
  policy: Pick<NodePolicy, 'joinMode' | 'onParentFailure'>,
): JoinDecision {
  const has = (state: EdgeState): boolean => edges.has(state);
  if (policy.joinMode === 'any' && has('live')) return 'fire';
  if (has('unresolved')) return 'wait';
  if (has('source_failed')) {
    switch (policy.onParentFailure) {
      case 'skip':
        return 'skip_parent';
      case 'propagate':
        return 'upstream_failure';
      case 'substitute_default':
        return 'fire';
    }
  }
  if (has('live')) return 'fire';
  if (has('upstream_failed')) return policy.onParentFailure === 'substitute_default' ? 'fire' : 'skip_parent';
  return 'skip_branch';
}
