/** The inputs of an attempt: the run's own, then what its edges bring under their labels, merged where several meet. */
import type { EventId, IterationKey } from '../ids.ts';
import { nodeKey } from '../ids.ts';
import { type JsonValue, isJsonObject } from '../json.ts';
import type { RunState } from '../log/fold.ts';
import type { NodeState } from '../log/node-state.ts';
import { type LoadedPayloads, contextAt, itemOf, loopOf, readAll, valueOf } from './context-at.ts';
import { edgeValue } from './edge-condition.ts';
import type { MergeStrategy } from './definition.ts';
import { edgeState } from './edge-state.ts';
import { type Contribution, merge } from './merge.ts';
import { ContextTooLarge, payloadLimits } from './payload-limits.ts';
import type { NodeInput, Plan, PlanEdge, PlanNode } from './plan.ts';
import { type DecisionWork, NodeWork } from './work-limits.ts';

/** What the attempt pinned before event `before` is given. Its inputs throw `PayloadsNeeded` as its context does. */
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
    // With the substitute policy a missing parent stands for an empty text; otherwise the run's input stays.
    return node.policy.onParentFailure === 'substitute_default' ? [[label, '']] : [];
  });
  return {
    context,
    iteration,
    // Only when it is looked at: a large input is loaded for those who want it.
    get inputs() {
      // Before anything is loaded: a worker's memory would not hold it.
      const offloadedBytes = offloadedBytesOf(node, iteration, state);
      if (offloadedBytes > payloadLimits.contextBytes) throw new ContextTooLarge(offloadedBytes);
      return Object.fromEntries(readAll([runInputs, ...edgeInputs]).flat());
    },
  };
}

/** How much of what its labelled edges bring would have to be loaded; what several of them bring is loaded once. */
function offloadedBytesOf({ inbound }: PlanNode, iteration: IterationKey, { nodes }: RunState): number {
  const sources = new Set(inbound.filter(({ targetParamLabel }) => targetParamLabel !== undefined).map(({ source }) => source));
  return [...sources].reduce((sum, source) => {
    const node = nodes.get(nodeKey({ nodeId: source, iteration }));
    return sum + (node?.status === 'completed' && 'ref' in node.output ? node.output.bytes : 0);
  }, 0);
}

/** The node's own strategy is for labels that several edges share; a value that comes alone stays what it is. */
const strategyOf = ({ policy }: PlanNode, edges: readonly PlanEdge[]): MergeStrategy =>
  edges.length > 1 ? policy.merge : 'last_write_wins';

/** Inputs by their names; a later one takes the place of an earlier one of the same name. */
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

/** What a loop gives to its body: `{ item, index }`. */
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
