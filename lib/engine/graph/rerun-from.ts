/**
 * Running a run again from a chosen node: what came of the nodes before it is taken over, and what lies behind it, or did
 * not end well, is decided anew. Skips are not taken over: they follow from the rest.
 */
import { defined } from '../defined.ts';
import { type NodeId, nodeKey, topLevel } from '../ids.ts';
import type { JsonValue, Payload } from '../json.ts';
import type { RunEvent } from '../log/events.ts';
import { type RunState, emptyState, fork } from '../log/fold.ts';
import type { EndedNode } from '../log/node-state.ts';
import { awaitSlot, beginGraph, mustWaitForSlot } from './begin.ts';
import { isOverBudget } from './budget.ts';
import { type DecideTools, type Draft, emit, hasEnded, openDraft } from './draft.ts';
import type { Plan, PlanNode } from './plan.ts';

/** A result that stands: a completion, or a failure that an error edge took. */
export type ReusedNode = Extract<EndedNode, { status: 'completed' | 'failed' | 'timed_out' }>;

/**
 * The results of the earlier run that stand, in the order in which they came, so that a later writing of a context key
 * still wins. The plan may be of another version: what it does not have is left behind.
 */
export function reusableResults(plan: Plan, earlier: RunState, from: NodeId): readonly ReusedNode[] {
  const rerunNodes = reachableFrom(plan, outermostLoop(plan, from));
  return [...earlier.nodes.entries()]
    .flatMap(([, state]) => (isReusable(state) && state.iteration === topLevel ? [state] : []))
    .filter(({ nodeId }) => plan.nodes.has(nodeId) && !rerunNodes.has(nodeId))
    .toSorted((a, b) => a.endedBy - b.endedBy);
}

const isReusable = (state: { readonly status: string }): state is ReusedNode =>
  state.status === 'completed' ||
  ((state.status === 'failed' || state.status === 'timed_out') && 'isHandled' in state && state.isHandled === true);

/** Of a node in the body of a loop, the outermost loop around it: passes that have ended left nothing but their results. */
function outermostLoop(plan: Plan, id: NodeId): NodeId {
  const enclosingLoop = plan.nodes.get(id)?.loop;
  return enclosingLoop === undefined ? id : outermostLoop(plan, enclosingLoop);
}

/** The node and all that can be reached from it. */
function reachableFrom(plan: Plan, from: NodeId): ReadonlySet<NodeId> {
  const found = new Set([from]);
  for (const id of found) for (const edge of plan.nodes.get(id)?.outbound ?? []) found.add(edge.target);
  return found;
}

/** The first commit of a run that goes on from a chosen node; undefined where the results that stand do not lead to it. */
export function decideRerunFrom(
  input: Payload,
  system: Readonly<Record<string, JsonValue>>,
  { from, reused }: { readonly from: NodeId; readonly reused: readonly ReusedNode[] },
  tools: DecideTools,
): readonly RunEvent[] | undefined {
  const draft = openDraft(emptyState(), tools);
  emit(draft, { type: 'INPUT_SET', input });
  for (const [key, value] of Object.entries(system)) emit(draft, { type: 'SYSTEM_SET', key, value: { value } });
  emit(draft, { type: 'RUN_STARTED' });
  for (const result of reused) {
    const node = tools.plan.nodes.get(result.nodeId);
    if (node !== undefined) emit(draft, reusedEvent(node, result));
  }
  const startedDraft: Draft = { ...draft, state: fork(draft.state), events: [...draft.events] };
  beginGraph(startedDraft);
  const chosen = startedDraft.state.nodes.get(nodeKey({ nodeId: outermostLoop(tools.plan, from), iteration: topLevel }));
  // It waits where something before it is run again too; skipped, or never come to, it would not be run at all.
  const isReached = chosen === undefined ? !hasEnded(startedDraft) || isOverBudget(startedDraft) : chosen.status !== 'skipped';
  if (!isReached) return undefined;
  if (!mustWaitForSlot(draft)) return startedDraft.events;
  awaitSlot(draft);
  return draft.events;
}

function reusedEvent(node: PlanNode, result: ReusedNode): RunEvent {
  const { nodeId, iteration, attempt, endedAt, startedAt = endedAt } = result;
  const times = { nodeId, iteration, attempt, startedAt, endedAt };
  if (result.status === 'completed') {
    const { output, handle, variable, end } = result;
    return defined({
      type: 'NODE_COMPLETED',
      ...times,
      output,
      handle,
      variable,
      end,
    });
  }
  const { outputVariable: variable } = node.policy;
  return defined({
    type: 'NODE_FAILED',
    ...times,
    failure: result.failure,
    handle: 'error',
    variable,
  });
}
