/**
 * A definition's graph by number: node i is `nodes[i]`, and every edge that has two known, different ends is kept.
 * Deterministic: nodes and edges keep their order in the definition.
 */
import type { NodeId } from '../ids.ts';
import type { EdgeDefinition, WorkflowDefinition } from './definition.ts';
import { mainHandle } from './outcome.ts';

export interface ShapeEdge {
  readonly source: number;
  readonly target: number;
  /** which way out of the source; the main one by its one name */
  readonly handle: string;
  /** position in the definition's `edges` */
  readonly index: number;
}

export interface Shape {
  readonly size: number;
  readonly inbound: readonly (readonly ShapeEdge[])[];
  readonly outbound: readonly (readonly ShapeEdge[])[];
  /** every node behind all its parents; nodes on a cycle, and behind one, are missing */
  readonly order: readonly number[];
  /** longest distance from a root; 0 for what `order` misses */
  readonly waves: readonly number[];
}

/** An edge without a handle follows the main one; `success` is another name of it. */
export const wayOut = (edge: Pick<EdgeDefinition, 'sourceHandle'>): string =>
  edge.sourceHandle === undefined || edge.sourceHandle === 'success' ? mainHandle : edge.sourceHandle;

/** Where an id is used twice, its first node is meant. */
export const positions = (definition: Pick<WorkflowDefinition, 'nodes'>): ReadonlyMap<NodeId, number> => {
  const found = new Map<NodeId, number>();
  definition.nodes.forEach((node, index) => {
    if (!found.has(node.id)) found.set(node.id, index);
  });
  return found;
};

export const shapeOf = (definition: Pick<WorkflowDefinition, 'nodes' | 'edges'>): Shape => {
  const at = positions(definition);
  const size = definition.nodes.length;
  const inbound = Array.from({ length: size }, (): ShapeEdge[] => []);
  const outbound = Array.from({ length: size }, (): ShapeEdge[] => []);
  definition.edges.forEach((edge, index) => {
    const source = at.get(edge.source);
    const target = at.get(edge.target);
    if (source === undefined || target === undefined || source === target) return;
    const kept = { source, target, handle: wayOut(edge), index };
    inbound[target]?.push(kept);
    outbound[source]?.push(kept);
  });
  return { size, inbound, outbound, ...sorted(size, inbound, outbound) };
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
