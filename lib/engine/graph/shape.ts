/**
 * A definition's graph by number: node i is `nodes[i]`, and every edge that has two known, different ends is kept.
 * Deterministic: nodes and edges keep their order in the definition.
 */
import type { NodeId } from '../ids.ts';
import { type Bodies, bodiesOf, wayOutOf } from './bodies.ts';
import type { WorkflowDefinition } from './definition.ts';
import type { ShapeEdge } from './shape-edge.ts';

export interface Shape {
  readonly size: number;
  readonly inbound: readonly (readonly ShapeEdge[])[];
  readonly outbound: readonly (readonly ShapeEdge[])[];
  /** every node behind all its parents; nodes on a cycle, and behind one, are missing */
  readonly order: readonly number[];
  /** longest distance from a root; 0 for what `order` misses */
  readonly waves: readonly number[];
  /** of loops; the edges that lead back to them are in neither `inbound` nor `outbound` */
  readonly bodies: Bodies;
}

/** Where an id is used twice, its first node is meant. */
export const positions = (definition: Pick<WorkflowDefinition, 'nodes'>): ReadonlyMap<NodeId, number> => {
  const found = new Map<NodeId, number>();
  definition.nodes.forEach((node, index) => {
    if (!found.has(node.id)) found.set(node.id, index);
  });
  return found;
};

/** What the shape of a graph hangs on beside its edges, asked by a node's position. */
export interface NodeKinds {
  readonly isLoop: (node: number) => boolean;
  readonly begins: (node: number) => boolean;
}

const ordinary: NodeKinds = { isLoop: () => false, begins: () => false };

export const shapeOf = (definition: Pick<WorkflowDefinition, 'nodes' | 'edges'>, kinds: NodeKinds = ordinary): Shape => {
  const at = positions(definition);
  const size = definition.nodes.length;
  const edges = definition.edges.flatMap((edge, index): readonly ShapeEdge[] => {
    const source = at.get(edge.source);
    const target = at.get(edge.target);
    if (source === undefined || target === undefined || source === target) return [];
    return [{ source, target, handle: wayOutOf(edge, kinds.isLoop(source)), index }];
  });
  const bodies = bodiesOf(size, byEnd(size, edges, 'source'), kinds.isLoop, kinds.begins);
  const onward = edges.filter(({ index }) => !bodies.back.has(index));
  const inbound = byEnd(size, onward, 'target');
  const outbound = byEnd(size, onward, 'source');
  return { size, inbound, outbound, bodies, ...sorted(size, inbound, outbound) };
};

const byEnd = (size: number, edges: readonly ShapeEdge[], end: 'source' | 'target'): readonly (readonly ShapeEdge[])[] => {
  const lists = Array.from({ length: size }, (): ShapeEdge[] => []);
  for (const edge of edges) lists[edge[end]]?.push(edge);
  return lists;
};

/** Kahn's algorithm. Parallel edges count one by one on both sides. */
const sorted = (
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
  const isSorted = new Set(order);
  return { order, waves: waves.map((wave, node) => (isSorted.has(node) ? wave : 0)) };
};
