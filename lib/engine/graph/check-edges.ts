/** What can be wrong with one edge, or with the edges between two nodes. */
import type { EdgeDefinition, Finding, WorkflowDefinition } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';
import type { NodeFacts } from './inspection.ts';
import { handleMatches } from './outcome.ts';
import { effectiveHandle } from './shape-edge.ts';
import { positions } from './shape.ts';

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
              `${edge.target} begins the run: nothing can lead into it`,
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
  const known = source.handles.length === 0 ? 'it has none' : `it has ${source.handles.join(', ')}`;
  return [finding('unknown_handle', pointer, `${edge.source} has no way out named ${effectiveHandle(edge)}: ${known}`)];
};

/** Two edges may join the same nodes when they leave by other ways or bring other values. */
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
      : [finding('duplicate_edge', jsonPointer('edges', index), `says the same as ${jsonPointer('edges', earlier)}`)];
  });
};

/** The first strategy named for a label holds for all its edges, so a different one further on cannot be meant. */
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
