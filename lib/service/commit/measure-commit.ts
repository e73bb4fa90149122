/** Emits the metrics of a commit that was won. If the process dies before this, the commit is not counted. */
import type { Plan } from '../../engine/graph/plan.ts';
import { type NodeId, nodeKey, topLevel } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { metricsOf } from '../../engine/log/run-metrics.ts';
import type { RunState } from '../../engine/log/fold.ts';
import type { Deps } from '../deps.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** @param plan the plan of a graph run; nodes of other runs are steps or messages */
export function measureCommit({ metrics }: Pick<Deps, 'metrics'>, { head, state }: RunFold, commit: Commit, plan?: Plan): void {
  if (!metrics.isOn) return;
  const measures = metricsOf(commit, {
    workflowName: head.workflow.name,
    createdAt: head.createdAt,
    state,
    typeOf: (id) => plan?.nodes.get(id)?.type ?? stepKindIn(state, id) ?? 'message',
  });
  if (measures.length > 0) metrics.emit(measures, commit.at);
}

function stepKindIn(state: RunState, nodeId: NodeId): string | undefined {
  const node = state.nodes.get(nodeKey({ nodeId, iteration: topLevel }));
  return node !== undefined && 'step' in node ? node.step?.kind : undefined;
}
