/**
 * The graph of a definition by number: node i is `nodes[i]`; edges between two known, different nodes are included.
 * Nodes and edges keep their order in the definition.
 *
 * The body of a loop contains the nodes that are reachable by its handle `loop` and in no other way. An edge from the body back to the
 * loop only means "continue" and is left out of the graph.
 */
import type { NodeId } from '../ids.ts';
import type { WorkflowDefinition, EdgeDefinition } from './definition.ts';
import { bodyHandle, completedHandle, doneHandle, mainHandle } from './outcome.ts';

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

/** An edge between node numbers. */
export interface ShapeEdge {
  readonly source: number;
  readonly target: number;
  /** handle of the source, with aliases resolved */
  readonly handle: string;
  /** position in the definition's `edges` */
  readonly index: number;
}

/** An edge without a handle uses the main one; `success` is an alias of it. */
export const effectiveHandle = (edge: Pick<EdgeDefinition, 'sourceHandle'>): string =>
  edge.sourceHandle === undefined || edge.sourceHandle === 'success' ? mainHandle : edge.sourceHandle;

/** Like `effectiveHandle`, and resolves the loop's alias of `done`. */
export const effectiveLoopHandle = (edge: Parameters<typeof effectiveHandle>[0], isLoop: boolean): string => {
  const handle = effectiveHandle(edge);
  return isLoop && handle === completedHandle ? doneHandle : handle;
};

interface LoopBodies {
  /** the innermost loop around each node; undefined outside loops */
  readonly enclosingLoops: readonly (number | undefined)[];
  /** number of loops around each node */
  readonly depths: readonly number[];
  /** positions in the definition's `edges` of edges that only mean "continue" */
  readonly backEdges: ReadonlySet<number>;
}

/** @param isTrigger start nodes; without any, runs begin at nodes whose only inbound edges come from their own body */
function loopBodiesOf(
  size: number,
  outbound: readonly (readonly ShapeEdge[])[],
  isLoop: (node: number) => boolean,
  isTrigger: (node: number) => boolean,
): LoopBodies {
  const loops = Array.from({ length: size }, (_, node) => node).filter(isLoop);
  const enclosingLoops: (number | undefined)[] = Array.from({ length: size }, () => undefined);
  const depths = Array.from({ length: size }, () => 0);
  if (loops.length === 0) return { enclosingLoops, depths, backEdges: new Set() };

  const entries = (loop: number): readonly number[] => targets(outbound[loop], (edge) => edge.handle === bodyHandle);
  const reachable = new Map(
    loops.map((loop) => [loop, reachableFrom(entries(loop), (node) => (node === loop ? [] : targets(outbound[node])))]),
  );
  for (const [loop, found] of reachable) found.delete(loop);
  const roots = rootsOf(size, outbound, reachable, isTrigger);

  const bodies = loops.map((loop) => {
    const outside = reachableFrom(roots, (node) =>
      targets(outbound[node], (edge) => node !== loop || edge.handle !== bodyHandle),
    );
    return { loop, body: new Set([...(reachable.get(loop) ?? [])].filter((node) => !outside.has(node))) };
  });
  for (const { body } of bodies) for (const node of body) depths[node] = (depths[node] ?? 0) + 1;
  // Bodies are nested or disjoint, so the innermost belongs to the deepest loop.
  for (const { loop, body } of bodies.toSorted((one, other) => (depths[one.loop] ?? 0) - (depths[other.loop] ?? 0)))
    for (const node of body) enclosingLoops[node] = loop;

  const backEdges = new Set(
    bodies.flatMap(({ loop, body }) =>
      [...body].flatMap((node) => (outbound[node] ?? []).filter(({ target }) => target === loop).map(({ index }) => index)),
    ),
  );
  return { enclosingLoops, depths, backEdges };
}

const targets = (
  edges: readonly ShapeEdge[] | undefined,
  matches: (edge: ShapeEdge) => boolean = () => true,
): readonly number[] => (edges ?? []).filter(matches).map(({ target }) => target);

const reachableFrom = (from: readonly number[], nextOf: (node: number) => readonly number[]): Set<number> => {
  const found = new Set(from);
  for (const node of found) for (const target of nextOf(node)) found.add(target);
  return found;
};

function rootsOf(
  size: number,
  outbound: readonly (readonly ShapeEdge[])[],
  reachable: ReadonlyMap<number, ReadonlySet<number>>,
  isTrigger: (node: number) => boolean,
): readonly number[] {
  const nodes = Array.from({ length: size }, (_, node) => node);
  const triggers = nodes.filter(isTrigger);
  if (triggers.length > 0) return triggers;
  const nodesWithInbound = new Set(
    outbound.flatMap((edges) =>
      edges.flatMap(({ source, target }) => (reachable.get(target)?.has(source) === true ? [] : [target])),
    ),
  );
  return nodes.filter((node) => !nodesWithInbound.has(node));
}
