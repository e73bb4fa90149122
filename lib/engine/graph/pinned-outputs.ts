/** Pinned outputs of a test run: such a node does not run, and completes with the pinned output. */
import type { NodeId } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { Finding, WorkflowDefinition } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';
import type { InspectNode } from './inspection.ts';
import { handleMatches, mainHandle } from './outcome.ts';

export interface PinnedOutput {
  readonly output: JsonValue;
  /** handle of the node; absent: the main handle */
  readonly handle?: string;
}

export type PinnedOutputs = Readonly<Record<string, PinnedOutput>>;

/** A node can be pinned to each of its handles; an end node has none. */
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
    const known = handles.length === 0 ? 'it has no handles' : `it has ${handles.join(', ')}`;
    return [finding('unknown_handle', pointer, `${id} has no handle ${handle}: ${known}`)];
  });
};

/** The pins by node id. Pins of unknown nodes are findings, so none occur here. */
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
