/** The inputs of an attempt: the run's input, then the values of its edges under their labels, merged where several share one. */
import type { EventId, IterationKey } from '../ids.ts';
import { nodeKey } from '../ids.ts';
import { type JsonValue, isJsonObject } from '../json.ts';
import type { RunState } from '../log/fold.ts';
import type { NodeState } from '../log/node-state.ts';
import { type LoadedPayloads, contextAt, itemOf, loopOf, readAll, valueOf } from './context.ts';
import { edgeValue, edgeState } from './edges.ts';
import type { MergeStrategy } from './definition.ts';
import { ContextTooLarge, payloadLimits } from './payload-limits.ts';
import type { NodeInput, Plan, PlanEdge, PlanNode } from './plan.ts';
import { type DecisionWork, NodeWork } from './work-limits.ts';

/** The input of an attempt that is pinned before event `before`. Reading its inputs may throw `PayloadsNeeded`, like its context. */
export function nodeInputOf(
  plan: Plan,
  node: PlanNode,
  iteration: IterationKey,
  state: RunState,
  before: EventId,
  loaded: LoadedPayloads,
  decision?: DecisionWork,
): NodeInput {
  const context = contextAt(state, iteration, before, loaded, new NodeWork(decision));
  const groups = [...byLabel(node.inbound)];
  const runInputs = (): NamedValues => {
    const runInput = context.get('input');
    return isJsonObject(runInput) ? Object.entries(runInput) : [];
  };
  const edgeInputs = groups.map(([label, edges]) => (): NamedValues => {
    const strategy = edges.find((edge) => edge.mergeStrategy !== undefined)?.mergeStrategy ?? strategyOf(node, edges);
    const contributions = readAll(
      edges.map((edge) => () => contribution(plan, edge, iteration, state, before, loaded, context.work)),
    ).flat();
    if (strategy === 'concat') for (const { value } of contributions) context.work.value(value);
    if (contributions.length > 0) return [[label, merge(strategy, contributions)]];
    // With `substitute_default` an empty text replaces a missing parent; otherwise the run's input stays.
    return node.policy.onParentFailure === 'substitute_default' ? [[label, '']] : [];
  });
  return {
    context,
    iteration,
    // A getter, so that only nodes that read their inputs load them.
    get inputs() {
      // Checked before the load: the values would not fit in the worker's memory.
      const offloadedBytes = offloadedBytesOf(node, iteration, state);
      if (offloadedBytes > payloadLimits.contextBytes) throw new ContextTooLarge(offloadedBytes);
      return Object.fromEntries(readAll([runInputs, ...edgeInputs]).flat());
    },
  };
}

/** Bytes that a read of the labelled edges would load; each source counts once. */
function offloadedBytesOf({ inbound }: PlanNode, iteration: IterationKey, { nodes }: RunState): number {
  const sources = new Set(inbound.filter(({ targetParamLabel }) => targetParamLabel !== undefined).map(({ source }) => source));
  return [...sources].reduce((sum, source) => {
    const node = nodes.get(nodeKey({ nodeId: source, iteration }));
    return sum + (node?.status === 'completed' && 'ref' in node.output ? node.output.bytes : 0);
  }, 0);
}

/** The node's own strategy applies to labels that several edges share; a single value is passed unchanged. */
const strategyOf = ({ policy }: PlanNode, edges: readonly PlanEdge[]): MergeStrategy =>
  edges.length > 1 ? policy.merge : 'last_write_wins';

/** Inputs by name; a later entry replaces an earlier one of the same name. */
type NamedValues = readonly (readonly [string, JsonValue])[];

function byLabel(edges: readonly PlanEdge[]): ReadonlyMap<string, readonly PlanEdge[]> {
  const groups = new Map<string, PlanEdge[]>();
  for (const edge of edges) {
    if (edge.targetParamLabel === undefined) continue;
    groups.set(edge.targetParamLabel, [...(groups.get(edge.targetParamLabel) ?? []), edge]);
  }
  return groups;
}

function contribution(
  plan: Plan,
  edge: PlanEdge,
  iteration: IterationKey,
  state: RunState,
  before: EventId,
  loaded: LoadedPayloads,
  work: NodeWork,
): readonly Contribution[] {
  if (edge.isEntry === true)
    return [{ source: sourceNameOf(plan, edge), value: edgeValue(edge, loopEntryOf(state, iteration, loaded)) }];
  const source = state.nodes.get(nodeKey({ nodeId: edge.source, iteration }));
  if (source === undefined || !endedBefore(source, before) || edgeState(state, edge, iteration, loaded, work) !== 'live')
    return [];
  if (source.status !== 'completed') return [];
  const value = edgeValue(edge, valueOf(source.output, loaded));
  return [{ source: sourceNameOf(plan, edge), value }];
}

/** The value of an entry edge: `{ item, index }`. */
function loopEntryOf(state: RunState, iteration: IterationKey, loaded: LoadedPayloads): JsonValue {
  const loopIteration = state.iterations.get(iteration);
  const loop = loopOf(state, iteration);
  return loopIteration === undefined || loop === undefined
    ? null
    : { item: itemOf(loop, loopIteration, loaded), index: loopIteration.index };
}

const endedBefore = (node: NodeState, before: EventId): boolean => 'endedBy' in node && node.endedBy < before;

function sourceNameOf(plan: Plan, edge: PlanEdge): string {
  const label = plan.nodes.get(edge.source)?.label;
  if (label === undefined) return edge.source;
  const isShared = [...plan.nodes.values()].some((other) => other.label === label && other.id !== edge.source);
  return isShared ? edge.source : label;
}

/** One of several values for an input, in the order of the definition's edges. */
interface Contribution {
  /** the source node's label, or its id if it has none or shares it */
  readonly source: string;
  readonly value: JsonValue;
}

function merge(strategy: MergeStrategy, contributions: readonly Contribution[]): JsonValue {
  switch (strategy) {
    case 'last_write_wins':
      return contributions.at(-1)?.value ?? null;
    case 'concat':
      // The lens document joins texts with a blank line.
      return contributions.map(({ value }) => asText(value)).join('\n\n');
    case 'array':
      return contributions.map(({ value }) => value);
    case 'json_object':
      return Object.fromEntries(contributions.map(({ source, value }) => [source, value]));
  }
}

const asText = (value: JsonValue): string => (typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value));
