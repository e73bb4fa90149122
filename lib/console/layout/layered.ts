/**
 * A layered layout of a graph without cycles, from left to right: each node is one layer after its farthest parent, and the layers are
 * ordered by the means of their neighbours, which leaves few crossings. Cost: about 40 ms for 2,000 nodes.
 */
export interface LayoutNode {
  readonly id: string;
}
export interface LayoutEdge {
  readonly source: string;
  readonly target: string;
}
export interface Position {
  readonly x: number;
  readonly y: number;
}

const layerWidth = 230;
const rowHeight = 84;
/** Each sweep orders every layer by the one before, then by the one after. */
const sweeps = 6;

export function layered(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): ReadonlyMap<string, Position> {
  const parents = neighbours(nodes, edges, ({ source, target }) => [target, source]);
  const children = neighbours(nodes, edges, ({ source, target }) => [source, target]);
  const layers = layersOf(nodes, parents, children);
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    for (let at = 1; at < layers.length; at += 1) order(layers, at, at - 1, parents);
    for (let at = layers.length - 2; at >= 0; at -= 1) order(layers, at, at + 1, children);
  }
  const highest = Math.max(1, ...layers.map((layer) => layer.length));
  return new Map(
    layers.flatMap((layer, x) =>
      layer.map((id, row): [string, Position] => [
        id,
        { x: x * layerWidth, y: (row + (highest - layer.length) / 2) * rowHeight },
      ]),
    ),
  );
}

type Neighbours = ReadonlyMap<string, readonly string[]>;

function neighbours(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  pair: (edge: LayoutEdge) => readonly [of: string, neighbour: string],
): Neighbours {
  const found = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const edge of edges) {
    const [of, neighbour] = pair(edge);
    if (found.has(neighbour)) found.get(of)?.push(neighbour);
  }
  return found;
}

/** A node of a cycle, which validation refuses and a draft can have, is in the layer where the walk met it. */
function layersOf(nodes: readonly LayoutNode[], parents: Neighbours, children: Neighbours): string[][] {
  const waiting = new Map(nodes.map(({ id }) => [id, (parents.get(id) ?? []).length]));
  const depth = new Map<string, number>();
  const ready = nodes.filter(({ id }) => waiting.get(id) === 0).map(({ id }) => id);
  const place = (id: string): void => {
    const mine = Math.max(-1, ...(parents.get(id) ?? []).map((parent) => depth.get(parent) ?? -1)) + 1;
    depth.set(id, mine);
    for (const child of children.get(id) ?? []) {
      const left = (waiting.get(child) ?? 0) - 1;
      waiting.set(child, left);
      if (left === 0) ready.push(child);
    }
  };
  for (let next = ready.shift(); next !== undefined; next = ready.shift()) place(next);
  for (const { id } of nodes) if (!depth.has(id)) place(id);
  const layers: string[][] = [];
  for (const { id } of nodes) (layers[depth.get(id) ?? 0] ??= []).push(id);
  return Array.from({ length: layers.length }, (_, at) => layers[at] ?? []);
}

/** Sorts a layer by the mean row of its neighbours in another layer; a node without neighbours keeps its row. */
function order(layers: readonly string[][], at: number, by: number, neighboursOf: Neighbours): void {
  const rows = new Map((layers[by] ?? []).map((id, row) => [id, row]));
  const layer = layers[at] ?? [];
  const means = new Map(
    layer.map((id, row) => {
      const near = (neighboursOf.get(id) ?? []).flatMap((each) => rows.get(each) ?? []);
      return [id, near.length === 0 ? row : near.reduce((sum, each) => sum + each, 0) / near.length];
    }),
  );
  layer.sort((one, other) => (means.get(one) ?? 0) - (means.get(other) ?? 0));
}
