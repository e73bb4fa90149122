/** Whether every loop has a body, and every body keeps to itself: what goes in and out of it is the loop's own. */
import { bodyHandle, wayOutOf } from './bodies.ts';
import type { Finding, WorkflowDefinition } from './definition.ts';
import { finding, pointer } from './findings.ts';
import type { NodeFacts } from './inspection.ts';
import { loopLimits } from './loop-limits.ts';
import { type Shape, positions } from './shape.ts';

export const checkLoops = (
  definition: WorkflowDefinition,
  shape: Shape,
  facts: readonly (NodeFacts | undefined)[],
): readonly Finding[] => {
  const { around, depths } = shape.bodies;
  const at = positions(definition);
  const idOf = (node: number | undefined): string => (node === undefined ? '' : (definition.nodes[node]?.id ?? ''));
  const isLoop = (node: number): boolean => facts[node]?.isLoop === true;

  const crossings = definition.edges.flatMap((edge, index) => {
    const [source, target] = [at.get(edge.source), at.get(edge.target)];
    if (source === undefined || target === undefined || source === target) return [];
    const leads = isLoop(source) && wayOutOf(edge, true) === bodyHandle ? source : around[source];
    if (leads === around[target] || (shape.bodies.back.has(index) && leads === target)) return [];
    const [one, other] = leads === undefined ? ['into', around[target]] : ['out of', leads];
    return [
      finding(
        'edge_crosses_loop',
        pointer('edges', index),
        `leads ${one} the body of the loop ${idOf(other)}: only its ways out loop, done and error do`,
      ),
    ];
  });

  const ofNodes = definition.nodes.flatMap(({ id }, node) => {
    const loop = around[node];
    const isEnd = facts[node]?.handles.length === 0;
    return [
      ...(isLoop(node) && (shape.outbound[node] ?? []).every(({ handle }) => handle !== bodyHandle)
        ? [finding('loop_without_body', pointer('nodes', node), `nothing lies behind the way out loop of ${id}`)]
        : []),
      ...(isEnd && loop !== undefined
        ? [
            finding(
              'end_in_loop',
              pointer('nodes', node),
              `${id} would end the run inside the loop ${idOf(loop)}: put it behind done`,
            ),
          ]
        : []),
      ...(isLoop(node) && (depths[node] ?? 0) >= loopLimits.depth
        ? [
            finding(
              'loop_too_deep',
              pointer('nodes', node),
              `${id} lies in ${depths[node]} loops; ${loopLimits.depth} in each other are the most`,
            ),
          ]
        : []),
    ];
  });
  return [...crossings, ...ofNodes];
};
