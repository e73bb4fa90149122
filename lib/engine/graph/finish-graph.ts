/** Ends a run when no node is open: its leaves decide its status, its end nodes its output. */
import { type IterationKey, type NodeId, nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type Payload, inline, isJsonObject, minJsonLength } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { type NodeState, isOpen } from '../log/node-state.ts';
import { readAll, valueOf } from './context.ts';
import { emit, endRun } from '../decision.ts';
import type { Draft } from './draft.ts';
import { type EdgeState, edgeStateWithoutCondition } from './edges.ts';
import { checkPayload, payloadLimits } from './payload-limits.ts';
import type { PlanNodeRef, PlanNode } from './plan.ts';

/** Completed if every leaf completed or its branch was not taken; failed otherwise. */
export function finishGraph(draft: Draft): void {
  const failure = firstFailure(draft, draft.tools.plan.leaves, topLevel);
  if (failure !== undefined) return endAsFailed(draft, failure);
  const output = outputOf(draft);
  if ('failure' in output) return endAsFailed(draft, output.failure);
  const outputFailure = checkPayload(output);
  if (outputFailure !== undefined) return endAsFailed(draft, outputFailure);
  endAsCompleted(draft, output);
}

/** Ends the run with the result of this end node alone. The end of the run cancels the open nodes. */
export const endRunAt = (draft: Draft, { id }: PlanNode, end: 'success' | 'error', output: Payload): void =>
  end === 'error' ? endAsFailed(draft, endedInError(id)) : endAsCompleted(draft, output);

const endAsCompleted = (draft: Draft, output: Payload): void => {
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'completed' });
  emit(draft, { type: 'RUN_COMPLETED', output });
};

/** Ends the run because of one node's failure. The end of the run cancels the open nodes. */
export const failRun = (draft: Draft, { node, iteration }: PlanNodeRef): void =>
  endAsFailed(draft, causeOf(draft, node, iteration));

const endAsFailed = (draft: Draft, error: Failure): void => endRun(draft, { status: 'failed', error });

/** The failure of a graph, or of one iteration of a loop body, whose nodes have all ended; undefined if it succeeded. */
export function firstFailure(draft: Draft, leaves: readonly PlanNode[], iteration: IterationKey): Failure | undefined {
  for (const leaf of leaves) {
    const state = stateOf(draft, leaf, iteration);
    switch (state.status) {
      case 'completed':
        if (state.end === 'error') return endedInError(leaf.id);
        break;
      case 'failed':
      case 'timed_out':
        return causeOf(draft, leaf, iteration);
      case 'skipped':
        if (state.reason === 'parent_not_successful') return causeOf(draft, leaf, iteration);
        break;
      case 'cancelled':
        return { cause: 'internal', message: `node ${leaf.id} was cancelled although the run was not` };
    }
  }
  return undefined;
}

const endedInError = (nodeId: NodeId): Failure => ({
  cause: 'error',
  code: 'ended_in_error',
  message: `end node ${nodeId} ends the run as an error`,
  details: { nodeId },
});

function stateOf(
  draft: Draft,
  node: PlanNode,
  iteration: IterationKey,
): Exclude<NodeState, { status: 'queued' | 'running' | 'waiting' }> {
  const state = draft.state.nodes.get(nodeKey({ nodeId: node.id, iteration }));
  invariant(state !== undefined && !isOpen(state), `node ${node.id} has not ended although the graph has no open node`);
  return state;
}

/** Walks up from a failed or skipped node to the failure that caused it. */
function causeOf(draft: Draft, from: PlanNode, iteration: IterationKey): Failure {
  const seen = new Set([from.id]);
  const queue = [from];
  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    const state = stateOf(draft, node, iteration);
    const hasFailed = state.status === 'failed' || state.status === 'timed_out';
    if (hasFailed && state.failure.cause !== 'upstream_failure') return failureOf(node, state.failure);
    for (const edge of node.inbound) {
      const parent = draft.tools.plan.nodes.get(edge.source);
      if (parent === undefined || seen.has(parent.id) || !carriesFailure(edgeStateWithoutCondition(draft.state, edge, iteration)))
        continue;
      seen.add(parent.id);
      queue.push(parent);
    }
  }
  return { cause: 'internal', message: `no failure explains why node ${from.id} was skipped` };
}

/** Other edges carry no failure: it was handled, or a default was substituted. */
const carriesFailure = (edge: EdgeState): boolean => edge === 'source_failed' || edge === 'upstream_failed';

const failureOf = (node: PlanNode, failure: Failure): Failure => ({
  ...failure,
  message: `node ${node.id} failed: ${failure.message}`,
  details: { ...failure.details, nodeId: node.id },
});

/** The outputs of the end nodes, merged in the order in which they ended; later ones win. Null if there are none. */
function outputOf(draft: Draft): Payload | { readonly failure: Failure } {
  const ends = [...draft.state.nodes.entries()].flatMap(([, node]) =>
    node.status === 'completed' && node.end !== undefined ? [node] : [],
  );
  const [only] = ends;
  if (only === undefined) return inline(null);
  if (ends.length === 1) return only.output;
  const bytes = ends.reduce((sum, { output }) => sum + bytesOf(output), 0);
  if (bytes > maxEndOutputsBytes) return { failure: endOutputsTooLarge(bytes) };
  const inOrder = ends.toSorted((a, b) => a.endedBy - b.endedBy);
  const parts = readAll(inOrder.map((node) => () => valueOf(node.output, draft.tools.loaded)));
  // `fromEntries` defines own keys, `__proto__` included, where an assignment would call a setter.
  return inline(Object.fromEntries(parts.filter(isJsonObject).flatMap((part) => Object.entries(part))));
}

/** Bound of all end outputs, which are in memory together. */
const maxEndOutputsBytes = 4 * payloadLimits.outputBytes;

const bytesOf = (output: Payload): number => ('ref' in output ? output.bytes : minJsonLength(output.value, maxEndOutputsBytes));

const endOutputsTooLarge = (bytes: number): Failure => ({
  cause: 'invalid',
  code: 'output_too_large',
  message: `the outputs of the end nodes have at least ${bytes} bytes of JSON together; the limit is ${maxEndOutputsBytes}`,
});
