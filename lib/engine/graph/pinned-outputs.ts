/** Outputs that a test pins: such a node is not run, and ends with what its author says. */
import type { NodeId } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { Finding, WorkflowDefinition } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';
import type { InspectNode } from './inspection.ts';
import { handleMatches, mainHandle } from './outcome.ts';

export interface PinnedOutput {
  readonly output: JsonValue;
  /** the way out of the node; absent: the main one */
  readonly handle?: string;
}

export type PinnedOutputs = Readonly<Record<string, PinnedOutput>>;

/** A node that runs can be pinned to each of its ways out; one that ends its branch has none. */
export const checkPinnedOutputs = (
  { nodes }: Pick<WorkflowDefinition, 'nodes'>,
  pins: PinnedOutputs,
  inspect: InspectNode,
): readonly Finding[] => {
  const byId = new Map(nodes.map((node) => [String(node.id), node]));
  return Object.entries(pins).flatMap(([id, { handle = mainHandle }]): readonly Finding[] => {
    const pointer = jsonPointer('pinned', id);
    const node = byId.get(id);
    if (node === undefined) return [finding('pinned_node_unknown', pointer, `no node has the id ${id}`)];
    const handles = inspect(node).facts?.handles;
    if (handles === undefined || handles.some((known) => handleMatches(handle, known))) return [];
    const known = handles.length === 0 ? 'it has none' : `it has ${handles.join(', ')}`;
    return [finding('unknown_handle', pointer, `${id} has no way out named ${handle}: ${known}`)];
  });
};

/** The pins by the ids of their nodes; what is pinned without being there has been refused. */
export const pinnedOutputsById = (
  { nodes }: Pick<WorkflowDefinition, 'nodes'>,
  pins: PinnedOutputs,
): ReadonlyMap<NodeId, PinnedOutput> =>
  new Map(
    nodes.flatMap(({ id }): readonly (readonly [NodeId, PinnedOutput])[] => {
      const pin = Object.hasOwn(pins, id) ? pins[id] : undefined;
      return pin === undefined ? [] : [[id, pin]];
    }),
  );
