/**
 * Which nodes are whose body. The body of a loop is what is reached by its way out `loop` and by no other way; an edge
 * from there back to the loop says "continue", which goes without saying, and is left out of the graph.
 */
import { type ShapeEdge, wayOut } from './shape-edge.ts';

/** The way out of a loop that leads into its body, and the one that is followed when all items are through. */
export const bodyHandle = 'loop';
export const doneHandle = 'done';
/** another name of `done` */
export const completedHandle = 'completed';

/** As `wayOut`, with the loop's own second name made one. */
export const wayOutOf = (edge: Parameters<typeof wayOut>[0], isLoop: boolean): string => {
  const way = wayOut(edge);
  return isLoop && way === completedHandle ? doneHandle : way;
};

export interface Bodies {
  /** the innermost loop around each node; undefined outside all */
  readonly around: readonly (number | undefined)[];
  /** how many loops there are around each node */
  readonly depths: readonly number[];
  /** positions in the definition's `edges` of those that only say "continue" */
  readonly back: ReadonlySet<number>;
}

/** @param begins says which nodes begin runs; without any, those that nothing leads into but their own body do */
export function bodiesOf(
  size: number,
  outbound: readonly (readonly ShapeEdge[])[],
  isLoop: (node: number) => boolean,
  begins: (node: number) => boolean,
): Bodies {
  const loops = Array.from({ length: size }, (_, node) => node).filter(isLoop);
  const around: (number | undefined)[] = Array.from({ length: size }, () => undefined);
  const depths = Array.from({ length: size }, () => 0);
  if (loops.length === 0) return { around, depths, back: new Set() };

  const entries = (loop: number): readonly number[] => targets(outbound[loop], (edge) => edge.handle === bodyHandle);
  const behind = new Map(
    loops.map((loop) => [loop, reach(entries(loop), (node) => (node === loop ? [] : targets(outbound[node])))]),
  );
  for (const [loop, found] of behind) found.delete(loop);
  const roots = rootsOf(size, outbound, behind, begins);

  const bodies = loops.map((loop) => {
    const outside = reach(roots, (node) => targets(outbound[node], (edge) => node !== loop || edge.handle !== bodyHandle));
    return { loop, body: new Set([...(behind.get(loop) ?? [])].filter((node) => !outside.has(node))) };
  });
  for (const { body } of bodies) for (const node of body) depths[node] = (depths[node] ?? 0) + 1;
  // Bodies lie in each other or apart, so the innermost is that of the deepest loop.
  for (const { loop, body } of bodies.toSorted((one, other) => (depths[one.loop] ?? 0) - (depths[other.loop] ?? 0)))
    for (const node of body) around[node] = loop;

  const back = new Set(
    bodies.flatMap(({ loop, body }) =>
      [...body].flatMap((node) => (outbound[node] ?? []).filter(({ target }) => target === loop).map(({ index }) => index)),
    ),
  );
  return { around, depths, back };
}

const targets = (
  edges: readonly ShapeEdge[] | undefined,
  isMeant: (edge: ShapeEdge) => boolean = () => true,
): readonly number[] => (edges ?? []).filter(isMeant).map(({ target }) => target);

const reach = (from: readonly number[], onward: (node: number) => readonly number[]): Set<number> => {
  const found = new Set(from);
  for (const node of found) for (const target of onward(node)) found.add(target);
  return found;
};

function rootsOf(
  size: number,
  outbound: readonly (readonly ShapeEdge[])[],
  behind: ReadonlyMap<number, ReadonlySet<number>>,
  begins: (node: number) => boolean,
): readonly number[] {
  const nodes = Array.from({ length: size }, (_, node) => node);
  const named = nodes.filter(begins);
  if (named.length > 0) return named;
  const isLedInto = new Set(
    outbound.flatMap((edges) =>
      edges.flatMap(({ source, target }) => (behind.get(target)?.has(source) === true ? [] : [target])),
    ),
  );
  return nodes.filter((node) => !isLedInto.has(node));
}
