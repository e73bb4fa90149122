/** Finds the node whose failure ended a graph run. The run's own error can name an error end, which only reports that failure. */
import { type IterationKey, type NodeRef, nodeKey, topLevel } from '../ids.ts';
import type { RunState } from '../log/fold.ts';
import type { NodeState } from '../log/node-state.ts';
import { mainHandle, doneHandle } from './outcome.ts';
import type { Plan, PlanNode } from './plan.ts';

type Failed = Extract<NodeState, { failure: unknown }>;

const hasFailed = (state: NodeState | undefined): state is Failed => state?.status === 'failed' || state?.status === 'timed_out';
const isErrorEnd = (state: NodeState): boolean => state.status === 'completed' && state.end === 'error';

/**
 * @returns the node that the run's error names or, if that is an error end, the failed node from which an error edge leads to it.
 * Undefined for a run without such a node: its deadline passed, or a condition led to the error end.
 */
export function rootCauseOf(plan: Pick<Plan, 'nodes'>, { progress, nodes }: RunState): NodeRef | undefined {
  if (progress.status !== 'failed') return undefined;
  const named = progress.error.details?.['nodeId'];
  const ends = [...nodes.entries()].map(([, state]) => state).filter(({ nodeId }) => nodeId === named);
  const reported = ends.find((state) => hasFailed(state) && state.iteration === topLevel) ?? ends.find(isErrorEnd);
  if (reported === undefined) return undefined;
  const { nodeId, iteration } = reported;
  if (hasFailed(reported)) return { nodeId, iteration };
  const end = plan.nodes.get(nodeId);
  return end === undefined ? undefined : failureBefore(plan, nodes, end, iteration);
}

/** Walks up from an error end to the nearest failed node, breadth first. It stops at branches: their decision is the reason. */
function failureBefore(
  plan: Pick<Plan, 'nodes'>,
  states: RunState['nodes'],
  end: PlanNode,
  iteration: IterationKey,
): NodeRef | undefined {
  const seen = new Set([end.id]);
  const queue = [end];
  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    for (const { source, condition } of node.inbound) {
      const state = states.get(nodeKey({ nodeId: source, iteration }));
      if (hasFailed(state)) return { nodeId: source, iteration };
      const parent = plan.nodes.get(source);
      if (parent === undefined || seen.has(source) || condition !== undefined || !hasContinued(state)) continue;
      seen.add(source);
      queue.push(parent);
    }
  }
  return undefined;
}

/** Completed by the handle that every success has. */
const hasContinued = (state: NodeState | undefined): boolean =>
  state?.status === 'completed' && (state.handle === mainHandle || state.handle === doneHandle);
