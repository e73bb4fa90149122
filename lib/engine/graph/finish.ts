/** How a run ends once nothing of it is open: its leaves say whether it went well, its end nodes what it brought. */
import { nodeKey, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type JsonObject, inline, isJsonObject } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { type NodeState, isOpen } from '../log/node-state.ts';
import { valueOf } from './context-at.ts';
import { type Draft, emit } from './draft.ts';
import type { PlanNode } from './plan.ts';

/** Ends the run: completed if every leaf completed or was not taken, failed otherwise. */
export function finish(draft: Draft): void {
  const failure = firstFailure(draft);
  if (failure !== undefined) return endAsFailed(draft, failure);
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'completed' });
  emit(draft, { type: 'RUN_COMPLETED', output: outputOf(draft) });
}

/** A node whose failure ends the whole run. What is still open is cancelled by the run's own ending. */
export const haltRun = (draft: Draft, node: PlanNode, failure: Failure): void => endAsFailed(draft, failureOf(node, failure));

export function endAsFailed(draft: Draft, error: Failure): void {
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'failed' });
  emit(draft, { type: 'RUN_FAILED', error });
}

function firstFailure(draft: Draft): Failure | undefined {
  for (const leaf of draft.tools.plan.leaves) {
    const state = stateOf(draft, leaf);
    switch (state.status) {
      case 'completed':
        if (state.end === 'error') {
          return {
            cause: 'error',
            code: 'ended_in_error',
            message: `end node ${leaf.id} ends the run as an error`,
            details: { nodeId: leaf.id },
          };
        }
        break;
      case 'failed':
      case 'timed_out':
        return failureOf(leaf, state.failure);
      case 'skipped':
        if (state.reason === 'parent_not_successful') return causeOf(draft, leaf);
        break;
      case 'cancelled':
        return { cause: 'internal', message: `node ${leaf.id} was cancelled in a run that was not` };
    }
  }
  return undefined;
}

function stateOf(draft: Draft, node: PlanNode): Exclude<NodeState, { status: 'queued' | 'running' | 'waiting' }> {
  const state = draft.state.nodes.get(nodeKey({ nodeId: node.id, iteration: topLevel }));
  invariant(state !== undefined && !isOpen(state), `node ${node.id} has not ended when the run ends`);
  return state;
}

/** Walks up from a leaf that was cut off to the failure that did it. */
function causeOf(draft: Draft, leaf: PlanNode): Failure {
  const seen = new Set([leaf.id]);
  const up = [leaf];
  for (let node = up.shift(); node !== undefined; node = up.shift()) {
    const state = stateOf(draft, node);
    if (state.status === 'failed' || state.status === 'timed_out') return failureOf(node, state.failure);
    for (const edge of node.inbound) {
      const parent = draft.tools.plan.nodes.get(edge.source);
      if (parent === undefined || seen.has(parent.id)) continue;
      seen.add(parent.id);
      up.push(parent);
    }
  }
  return { cause: 'internal', message: `no failure explains why node ${leaf.id} was cut off` };
}

const failureOf = (node: PlanNode, failure: Failure): Failure => ({
  ...failure,
  message: `node ${node.id} failed: ${failure.message}`,
  details: { ...failure.details, nodeId: node.id },
});

/** The outputs of the end nodes that were reached, in the order they were, later ones winning; null without any. */
function outputOf(draft: Draft) {
  const ends = [...draft.state.nodes.entries()].flatMap(([, node]) =>
    node.status === 'completed' && node.end !== undefined ? [node] : [],
  );
  const [only] = ends;
  if (only === undefined) return inline(null);
  if (ends.length === 1) return only.output;
  const parts = ends.toSorted((a, b) => a.endedBy - b.endedBy).map((node) => valueOf(node.output, draft.tools.loaded));
  return inline(Object.assign({}, ...parts.filter(isJsonObject)) as JsonObject);
}
