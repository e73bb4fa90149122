/**
 * Rerun from a chosen node: results of nodes before it are reused; nodes after it, and nodes that did not succeed, are decided again.
 * Skips are not reused, because they follow from the rest; an end that ends the run is not, because its decision ends the rerun too.
 */
import { defined } from '../../base/defined.ts';
import { type NodeId, nodeKey, topLevel } from '../ids.ts';
import { type JsonValue, type Payload, inline } from '../json.ts';
import type { RunEvent } from '../log/events.ts';
import { type RunState, emptyState, fork } from '../log/fold.ts';
import { type EndedNode, type NodeState, isOpen } from '../log/node-state.ts';
import { awaitSlot, beginGraph, mustWaitForSlot } from './begin.ts';
import { isOverBudget } from './budget.ts';
import { emit, hasEnded, startRun } from '../decision.ts';
import { type DecideTools, type Draft, openDraft } from './draft.ts';
import { doneHandle, mainHandle } from './outcome.ts';
import type { Plan, PlanNode } from './plan.ts';

/** A reusable result: a completion, or a failure that an error edge handled. */
export type ReusedNode = Extract<EndedNode, { status: 'completed' | 'failed' | 'timed_out' }>;

/** Outputs that a request gives in place of those of the earlier run. */
export type ReplacedOutputs = ReadonlyMap<NodeId, JsonValue>;

/**
 * The reusable results of the earlier run, in the order in which they came, so that a later write of a context key still wins.
 * The plan may be of another version; results of nodes that it lacks are dropped. A node with a replaced output counts as completed, also
 * if it failed.
 */
export function reusableResults(
  plan: Plan,
  earlier: RunState,
  from: NodeId,
  replaced: ReplacedOutputs = new Map(),
): readonly ReusedNode[] {
  const rerunNodes = reachableFrom(plan, outermostLoop(plan, from));
  return [...earlier.nodes.entries()]
    .flatMap(([, state]) => {
      const node = plan.nodes.get(state.nodeId);
      if (node === undefined || node.endsRun === true || rerunNodes.has(state.nodeId) || state.iteration !== topLevel) return [];
      const output = replaced.get(state.nodeId);
      if (output !== undefined) return hasBegunAndEnded(state) ? [withOutput(node, state, inline(output))] : [];
      return isReusable(state) ? [state] : [];
    })
    .toSorted((a, b) => a.endedBy - b.endedBy);
}

type EndedAttempt = Extract<EndedNode, { attempt: unknown }>;

const hasBegunAndEnded = (state: NodeState): state is EndedAttempt => !isOpen(state) && state.status !== 'skipped';

/** A completed node keeps its handle, so that the same branch follows. */
function withOutput(node: PlanNode, state: EndedAttempt, output: Payload): ReusedNode {
  if (state.status === 'completed') return { ...state, output };
  const { nodeId, iteration, attempt, startedAt, endedAt, endedBy } = state;
  const { outputVariable: variable } = node.policy;
  const handle = node.isLoop ? doneHandle : mainHandle;
  return defined({ status: 'completed', nodeId, iteration, attempt, startedAt, endedAt, endedBy, handle, output, variable });
}

const isReusable = (state: { readonly status: string }): state is ReusedNode =>
  state.status === 'completed' ||
  ((state.status === 'failed' || state.status === 'timed_out') && 'isHandled' in state && state.isHandled === true);

/** For a node in a loop body, the outermost loop around it: ended iterations leave only their results. */
function outermostLoop(plan: Plan, id: NodeId): NodeId {
  const enclosingLoop = plan.nodes.get(id)?.loop;
  return enclosingLoop === undefined ? id : outermostLoop(plan, enclosingLoop);
}

/** The node and every node reachable from it. */
function reachableFrom(plan: Plan, from: NodeId): ReadonlySet<NodeId> {
  const found = new Set([from]);
  for (const id of found) for (const edge of plan.nodes.get(id)?.outbound ?? []) found.add(edge.target);
  return found;
}

/** The first commit of a rerun from a chosen node; undefined if the reused results do not lead to that node. */
export function decideRerunFrom(
  input: Payload,
  system: Readonly<Record<string, JsonValue>>,
  { from, reused }: { readonly from: NodeId; readonly reused: readonly ReusedNode[] },
  tools: DecideTools,
): readonly RunEvent[] | undefined {
  const draft = openDraft(emptyState(), tools);
  startRun(draft, input, system);
  for (const result of reused) {
    const node = tools.plan.nodes.get(result.nodeId);
    if (node !== undefined) emit(draft, reusedEvent(node, result));
  }
  const startedDraft: Draft = { ...draft, state: fork(draft.state), events: [...draft.events] };
  beginGraph(startedDraft);
  const chosen = startedDraft.state.nodes.get(nodeKey({ nodeId: outermostLoop(tools.plan, from), iteration: topLevel }));
  // The node may wait for an earlier node that runs again. If it was skipped, or cannot be reached, it would not run at all.
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
