/**
 * The edges of a graph: their state, which is derived from the state of their source and never stored, the value that they carry, and
 * what a join does with them.
 */
import { type Counter, containsText, isSameJson, noCounter } from '../compare.ts';
import { type IterationKey, nodeKey } from '../ids.ts';
import { type JsonValue, isJsonArray, isJsonObject, childAt } from '../json.ts';
import type { RunState } from '../log/fold.ts';
import { type NodeState, isOpen } from '../log/node-state.ts';
import { type LoadedPayloads, valueOf } from './context.ts';
import type { EdgeCondition, EdgeDefinition } from './definition.ts';
import { errorHandle, handleMatches } from './outcome.ts';
import type { PlanEdge, NodePolicy } from './plan.ts';

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
  | 'upstream_failed'
  /** for `allSucceeded` only: the source failed and an error edge handles it, or such a failure kept the source from running */
  | 'failure_handled';

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

type EdgeValueSource = Pick<EdgeDefinition, 'sourceOutputKey' | 'condition'>;

/**
 * The part of its source's output that an edge carries. `output`, or no key, is the whole output, or the text of a lens envelope. A
 * dotted path reads from the output, or from the envelope's data; it gives null if nothing is there. Digits are array indexes.
 */
export function edgeValue({ sourceOutputKey: path }: EdgeValueSource, output: JsonValue): JsonValue {
  const envelope = lensEnvelopeIn(output);
  if (path === undefined || path === 'output') return envelope === undefined ? output : envelope.text;
  const steps = path.split('.');
  return valueAtPath(output, steps) ?? valueAtPath(envelope?.data, steps) ?? null;
}

const valueAtPath = (output: JsonValue | undefined, steps: readonly string[]): JsonValue | undefined =>
  steps.reduce<JsonValue | undefined>(childAt, output);

/** An envelope of a lens node is recognised by its three text fields. */
function lensEnvelopeIn(output: JsonValue): { readonly text: string; readonly data: JsonValue | undefined } | undefined {
  if (!isJsonObject(output)) return undefined;
  const { kind, artifactKind, output: text, data } = output;
  return typeof kind === 'string' && typeof artifactKind === 'string' && typeof text === 'string' ? { text, data } : undefined;
}

/**
 * Evaluates the condition on the value that the edge carries. If it is not met, the edge is dead, as if its source had ended by another
 * handle. A failure carries no value, so a condition on an error edge is never met.
 * Throws `PayloadsNeeded` if the source's output is offloaded and not loaded.
 */
function isConditionMet(edge: EdgeValueSource, source: NodeState, loaded: LoadedPayloads, counter: Counter): boolean {
  if (edge.condition === undefined) return true;
  return source.status === 'completed' && isMet(edge.condition, edgeValue(edge, valueOf(source.output, loaded)), counter);
}

export function isMet(condition: EdgeCondition, value: JsonValue, counter: Counter = noCounter): boolean {
  switch (condition.type) {
    case 'equals':
      return isSameJson(value, condition.value, counter);
    case 'contains':
      return contains(value, condition.value, counter);
    case 'present':
      return value !== null;
    case 'truthy':
      return value !== null && value !== false && value !== 0 && value !== '';
  }
}

/** A substring of a text, an item of an array, a key of an object. */
function contains(value: JsonValue, expected: JsonValue, counter: Counter): boolean {
  if (isJsonArray(value)) return value.some((item) => isSameJson(item, expected, counter));
  if (typeof expected !== 'string') return false;
  if (typeof value !== 'string') return isJsonObject(value) && Object.hasOwn(value, expected);
  counter.addComparisons(value.length + expected.length);
  return containsText(value, expected);
}

/** When a node fires. A decision other than `wait` is final. */
export type JoinDecision = 'wait' | 'fire' | 'skip_branch' | 'skip_parent' | 'upstream_failure';

/**
 * `any` fires on the first live edge. Otherwise all edges must be resolved first. Then the node's policy decides about a failed parent.
 * An earlier failure that no error edge handles skips the node with that reason, so that the run does not count as a success, unless the
 * policy substitutes a default. Otherwise a single live edge is enough. With `allSucceeded`, a failure on any edge keeps the node from firing.
 * A handled failure is no failure of the run, so the node is then skipped as on a branch that is not taken.
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
        return policy.joinMode === 'allSucceeded' ? 'skip_parent' : 'fire';
    }
  }
  if (has('upstream_failed'))
    return policy.joinMode !== 'allSucceeded' && policy.onParentFailure === 'substitute_default' ? 'fire' : 'skip_parent';
  if (policy.joinMode === 'allSucceeded' && has('failure_handled')) return 'skip_branch';
  return has('live') ? 'fire' : 'skip_branch';
}
