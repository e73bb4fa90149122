/** Checks that every loop has a body, and that edges enter and leave a body only at its loop. */
import { bodyHandle } from './outcome.ts';
import { type Shape, effectiveLoopHandle, positions } from './shape.ts';
import type { Finding, WorkflowDefinition } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';
import type { NodeFacts } from './inspection.ts';
import { loopLimits } from './loop-values.ts';

export const checkLoops = (
  definition: WorkflowDefinition,
  shape: Shape,
  facts: readonly (NodeFacts | undefined)[],
): readonly Finding[] => {
  const { enclosingLoops, depths } = shape.loopBodies;
  const positionById = positions(definition);
  const idOf = (node: number | undefined): string => (node === undefined ? '' : (definition.nodes[node]?.id ?? ''));
  const isLoop = (node: number): boolean => facts[node]?.isLoop === true;

  const crossings = definition.edges.flatMap((edge, index) => {
    const [source, target] = [positionById.get(edge.source), positionById.get(edge.target)];
    if (source === undefined || target === undefined || source === target) return [];
    const sourceLoop = isLoop(source) && effectiveLoopHandle(edge, true) === bodyHandle ? source : enclosingLoops[source];
    if (sourceLoop === enclosingLoops[target] || (shape.loopBodies.backEdges.has(index) && sourceLoop === target)) return [];
    const [direction, crossedLoop] = sourceLoop === undefined ? ['into', enclosingLoops[target]] : ['out of', sourceLoop];
    return [
      finding(
        'edge_crosses_loop',
        jsonPointer('edges', index),
        `leads ${direction} the body of loop ${idOf(crossedLoop)}: use the loop's handles loop, done and error`,
      ),
    ];
  });

  const ofNodes = definition.nodes.flatMap(({ id }, node) => {
    const loop = enclosingLoops[node];
    const isEnd = facts[node]?.handles.length === 0;
    return [
      ...(isLoop(node) && (shape.outbound[node] ?? []).every(({ handle }) => handle !== bodyHandle)
        ? [
            finding(
              'loop_without_body',
              jsonPointer('nodes', node),
              `${id} has no edge from its handle loop, so its body is empty`,
            ),
          ]
        : []),
      ...(isEnd && loop !== undefined
        ? [
            finding(
              'end_in_loop',
              jsonPointer('nodes', node),
              `${id} would end the run inside loop ${idOf(loop)}: connect it to the loop's handle done`,
            ),
          ]
        : []),
      ...(isLoop(node) && (depths[node] ?? 0) >= loopLimits.depth
        ? [
            finding(
              'loop_too_deep',
              jsonPointer('nodes', node),
              `${id} is nested in ${depths[node]} loops; at most ${loopLimits.depth} levels are allowed`,
            ),
          ]
        : []),
    ];
  });
  return [...crossings, ...ofNodes];
};
