/**
 * The graph of a definition by number: node i is `nodes[i]`; edges between two known, different nodes are included.
 * Nodes and edges keep their order in the definition.
 */
import type { NodeId } from '../ids.ts';
import { type LoopBodies, loopBodiesOf, effectiveLoopHandle } from './loop-bodies.ts';
import type { WorkflowDefinition } from './definition.ts';
import type { ShapeEdge } from './shape-edge.ts';

export interface Shape {
  readonly size: number;
  readonly inbound: readonly (readonly ShapeEdge[])[];
  readonly outbound: readonly (readonly ShapeEdge[])[];
  /** topological order; nodes on a cycle, and after one, are missing */
  readonly order: readonly number[];
  /** longest distance from a root; 0 for nodes that `order` lacks */
  readonly waves: readonly number[];
  /** loop bodies; back edges of loops are in neither `inbound` nor `outbound` */
  readonly loopBodies: LoopBodies;
}

/** If an id occurs twice, its first node counts. */
export const positions = (definition: Pick<WorkflowDefinition, 'nodes'>): ReadonlyMap<NodeId, number> => {
  const found = new Map<NodeId, number>();
  definition.nodes.forEach((node, index) => {
    if (!found.has(node.id)) found.set(node.id, index);
  });
  return found;
};

/** Node properties that affect the shape, by position. */
export interface NodeKinds {
  readonly isLoop: (node: number) => boolean;
  readonly isTrigger: (node: number) => boolean;
}

const noSpecialNodes: NodeKinds = { isLoop: () => false, isTrigger: () => false };

export const shapeOf = (definition: Pick<WorkflowDefinition, 'nodes' | 'edges'>, kinds: NodeKinds = noSpecialNodes): Shape => {
  const positionById = positions(definition);
  const size = definition.nodes.length;
  const edges = definition.edges.flatMap((edge, index): readonly ShapeEdge[] => {
    const source = positionById.get(edge.source);
    const target = positionById.get(edge.target);
    if (source === undefined || target === undefined || source === target) return [];
    return [{ source, target, handle: effectiveLoopHandle(edge, kinds.isLoop(source)), index }];
  });
  const loopBodies = loopBodiesOf(size, byEnd(size, edges, 'source'), kinds.isLoop, kinds.isTrigger);
  const forwardEdges = edges.filter(({ index }) => !loopBodies.backEdges.has(index));
  const inbound = byEnd(size, forwardEdges, 'target');
  const outbound = byEnd(size, forwardEdges, 'source');
  return { size, inbound, outbound, loopBodies, ...topologicalOrder(size, inbound, outbound) };
};

const byEnd = (size: number, edges: readonly ShapeEdge[], end: 'source' | 'target'): readonly (readonly ShapeEdge[])[] => {
  const lists = Array.from({ length: size }, (): ShapeEdge[] => []);
  for (const edge of edges) lists[edge[end]]?.push(edge);
  return lists;
};

/** Kahn's algorithm. Parallel edges count separately on both sides. */
const topologicalOrder = (
  size: number,
  inbound: readonly (readonly ShapeEdge[])[],
  outbound: readonly (readonly ShapeEdge[])[],
): Pick<Shape, 'order' | 'waves'> => {
  const open = inbound.map((edges) => edges.length);
  const waves = Array.from({ length: size }, () => 0);
  const order = [...open.keys()].filter((node) => open[node] === 0);
  for (let next = 0; next < order.length; next += 1) {
    const node = order[next] ?? 0;
    for (const { target } of outbound[node] ?? []) {
      waves[target] = Math.max(waves[target] ?? 0, (waves[node] ?? 0) + 1);
      open[target] = (open[target] ?? 0) - 1;
      if (open[target] === 0) order.push(target);
    }
  }
  const sortedNodes = new Set(order);
  return { order, waves: waves.map((wave, node) => (sortedNodes.has(node) ? wave : 0)) };
};
