/**
 * Determines the body of each loop: the nodes that are reachable by its handle `loop` and in no other way. An edge from the body back
 * to the loop only means "continue" and is left out of the graph.
 */
import { type ShapeEdge, effectiveHandle } from './shape-edge.ts';

/** The loop's handle into its body, and its handle after the last item. */
export const bodyHandle = 'loop';
export const doneHandle = 'done';
/** alias of `done` */
export const completedHandle = 'completed';

/** Like `effectiveHandle`, and resolves the loop's alias of `done`. */
export const effectiveLoopHandle = (edge: Parameters<typeof effectiveHandle>[0], isLoop: boolean): string => {
  const handle = effectiveHandle(edge);
  return isLoop && handle === completedHandle ? doneHandle : handle;
};

export interface LoopBodies {
  /** the innermost loop around each node; undefined outside loops */
  readonly enclosingLoops: readonly (number | undefined)[];
  /** number of loops around each node */
  readonly depths: readonly number[];
  /** positions in the definition's `edges` of edges that only mean "continue" */
  readonly backEdges: ReadonlySet<number>;
}

/** @param isTrigger start nodes; without any, runs begin at nodes whose only inbound edges come from their own body */
export function loopBodiesOf(
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
