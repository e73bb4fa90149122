/** Graph runs: a published graph or the graph of a test run, executed node by node. */
import { defined } from '../../../base/defined.ts';
import { type Plan } from '../../../engine/graph/plan.ts';
import { rootCauseOf } from '../../../engine/graph/root-cause.ts';
import { topLevel } from '../../../engine/ids.ts';
import type { RunState } from '../../../engine/log/fold.ts';
import { carriesGraph, pinnedVersion } from '../../../engine/log/head.ts';
import { nodeJob } from '../../commit/job-messages.ts';
import type { RunKind } from '../../run-kind.ts';
import { type NamedNode, maxShownIterationNodes } from '../../runs/get-run.ts';
import { resumeSleepers } from '../../runs/resume-run.ts';
import { wakeNodes } from '../../runs/wake-run.ts';
import { createGraphRun } from './create-graph-run.ts';
import { graphDecision, planOf } from './decide-run.ts';
import { resolveGraphRerun } from './rerun-graph-run.ts';

export const graphKind: RunKind<'graph'> = {
  create: createGraphRun,
  decide: async (decider, fold) => graphDecision(decider, fold, await planOf(decider, fold)),
  signals: 'direct',
  jobOf: nodeJob,
  countEndedNodes: () => 0,
  hasSlots: true,
  resume: resumeSleepers,
  wake: wakeNodes,
  maxWakesPerCommit: Infinity,
  resolveRerun: resolveGraphRerun,
  present: async ({ deps, plans }, { head, state }) => {
    const plan = await plans.of(deps, head.address, pinnedVersion(head));
    return defined({ shown: nodesOf(state, plan), omitted: 0, rootCause: rootCauseOf(plan, state) });
  },
  versionsOf: (head) => ({ workflowVersion: carriesGraph(head) ? null : head.workflow.version }),
  countsUsage: true,
};

/** The nodes in the order of the definition. Ended iterations are not shown; their results and events are in the log. */
function nodesOf(state: RunState, { nodes, pinned }: Plan): readonly NamedNode[] {
  const iterationNodes = Map.groupBy(
    [...state.nodes.entries()]
      .filter(([, { iteration }]) => iteration !== topLevel)
      .slice(0, maxShownIterationNodes)
      .map(([, { nodeId, iteration }]) => ({ nodeId, iteration })),
    ({ nodeId }) => nodeId,
  );
  return [...nodes.values()].flatMap((node) => {
    const isPinned = pinned?.has(node.id) === true ? (true as const) : undefined;
    if (node.loop === undefined) return [{ node, iteration: topLevel, isPinned }];
    return (iterationNodes.get(node.id) ?? []).map(({ iteration }) => ({ node, iteration, isPinned }));
  });
}
