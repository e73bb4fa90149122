/** Checks each edge, and the edges between two nodes. */
import type { EdgeDefinition, Finding, WorkflowDefinition } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';
import type { NodeFacts } from './inspection.ts';
import { handleMatches } from './outcome.ts';
import { effectiveHandle, positions } from './shape.ts';

export const checkEdges = (definition: WorkflowDefinition, facts: readonly (NodeFacts | undefined)[]): readonly Finding[] => {
  const positionById = positions(definition);
  const factsOf = (id: EdgeDefinition['source']): NodeFacts | undefined => facts[positionById.get(id) ?? -1];
  return [
    ...definition.edges.flatMap((edge, index) => [
      ...checkEnds(edge, index, (id) => positionById.has(id)),
      ...checkHandle(edge, index, factsOf(edge.source)),
      ...(factsOf(edge.target)?.isTrigger === true
        ? [
            finding(
              'edge_into_start',
              jsonPointer('edges', index, 'target'),
              `${edge.target} starts the run, so no edge may lead into it`,
            ),
          ]
        : []),
    ]),
    ...checkDuplicates(definition.edges),
    ...checkMerges(definition.edges),
  ];
};

const checkEnds = (
  edge: EdgeDefinition,
  index: number,
  isKnown: (id: EdgeDefinition['source']) => boolean,
): readonly Finding[] => [
  ...(isKnown(edge.source)
    ? []
    : [finding('orphan_source', jsonPointer('edges', index, 'source'), `no node has the id ${edge.source}`)]),
  ...(isKnown(edge.target)
    ? []
    : [finding('orphan_target', jsonPointer('edges', index, 'target'), `no node has the id ${edge.target}`)]),
  ...(edge.source === edge.target
    ? [finding('self_edge', jsonPointer('edges', index), `an edge leads from ${edge.source} back to itself`)]
    : []),
];

const checkHandle = (edge: EdgeDefinition, index: number, source: NodeFacts | undefined): readonly Finding[] => {
  if (source === undefined || source.handles.some((handle) => handleMatches(edge.sourceHandle, handle))) return [];
  const pointer = edge.sourceHandle === undefined ? jsonPointer('edges', index) : jsonPointer('edges', index, 'sourceHandle');
  const known = source.handles.length === 0 ? 'it has no handles' : `it has ${source.handles.join(', ')}`;
  return [finding('unknown_handle', pointer, `${edge.source} has no handle ${effectiveHandle(edge)}: ${known}`)];
};

/** Two edges may connect the same nodes if they differ in handle, value, label or condition. */
const checkDuplicates = (edges: readonly EdgeDefinition[]): readonly Finding[] => {
  const seen = new Map<string, number>();
  return edges.flatMap((edge, index) => {
    const identity = JSON.stringify([
      edge.source,
      edge.target,
      effectiveHandle(edge),
      edge.sourceOutputKey ?? null,
      edge.targetParamLabel ?? null,
      edge.condition ?? null,
    ]);
    const earlier = seen.get(identity);
    if (earlier === undefined) seen.set(identity, index);
    return earlier === undefined
      ? []
      : [finding('duplicate_edge', jsonPointer('edges', index), `is a duplicate of ${jsonPointer('edges', earlier)}`)];
  });
};

/** The first strategy for a label applies to all its edges, so a different one on a later edge is a mistake. */
const checkMerges = (edges: readonly EdgeDefinition[]): readonly Finding[] => {
  const first = new Map<string, EdgeDefinition>();
  return edges.flatMap((edge, index) => {
    if (edge.targetParamLabel === undefined || edge.mergeStrategy === undefined) return [];
    const label = JSON.stringify([edge.target, edge.targetParamLabel]);
    const earlier = first.get(label);
    if (earlier === undefined) first.set(label, edge);
    if (earlier === undefined || earlier.mergeStrategy === edge.mergeStrategy) return [];
    const message = `the values for ${edge.targetParamLabel} of ${edge.target} are merged by ${earlier.mergeStrategy}, not by ${edge.mergeStrategy}`;
    return [finding('merge_conflict', jsonPointer('edges', index, 'mergeStrategy'), message)];
  });
};
