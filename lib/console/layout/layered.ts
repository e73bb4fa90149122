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

export interface Spacing {
  readonly layerWidth: number;
  readonly rowHeight: number;
}
const standardSpacing: Spacing = { layerWidth: 230, rowHeight: 84 };
/** Each sweep orders every layer by the one before, then by the one after. */
const sweeps = 6;

export function layered(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  { layerWidth, rowHeight }: Spacing = standardSpacing,
): ReadonlyMap<string, Position> {
  const depth = depthsOf(nodes, edges);
  const routed = withBends(nodes, edges, depth);
  const parents = neighbours(routed.nodes, routed.edges, ({ source, target }) => [target, source]);
  const children = neighbours(routed.nodes, routed.edges, ({ source, target }) => [source, target]);
  const layers = layersOf(routed.nodes, depth);
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    for (let at = 1; at < layers.length; at += 1) order(layers, at, at - 1, parents);
    for (let at = layers.length - 2; at >= 0; at -= 1) order(layers, at, at + 1, children);
  }
  const highest = Math.max(1, ...layers.map((layer) => layer.length));
  const positions = layers.flatMap((layer, x) =>
    layer.map((id, row): [string, Position] => [id, { x: x * layerWidth, y: (row + (highest - layer.length) / 2) * rowHeight }]),
  );
  return new Map(positions.filter(([id]) => !routed.bends.has(id)));
}

interface Routed {
  readonly nodes: readonly LayoutNode[];
  readonly edges: readonly LayoutEdge[];
  /** the places that edges keep free where they pass a layer; they are no nodes of the graph */
  readonly bends: ReadonlySet<string>;
}

/** An edge over several layers keeps a row free in each layer between, so that it crosses no node. */
function withBends(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[], depth: Map<string, number>): Routed {
  const bends = new Set<string>();
  const routed: LayoutEdge[] = [];
  for (const [index, { source, target }] of edges.entries()) {
    let from = source;
    const last = depth.get(target) ?? 0;
    for (let layer = (depth.get(source) ?? 0) + 1; layer < last; layer += 1) {
      // No id of a node contains a control character.
      const bend = `\u0000${index}:${layer}`;
      bends.add(bend);
      depth.set(bend, layer);
      routed.push({ source: from, target: bend });
      from = bend;
    }
    routed.push({ source: from, target });
  }
  return { nodes: [...nodes, ...[...bends].map((id) => ({ id }))], edges: routed, bends };
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
function depthsOf(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): Map<string, number> {
  const parents = neighbours(nodes, edges, ({ source, target }) => [target, source]);
  const children = neighbours(nodes, edges, ({ source, target }) => [source, target]);
  const waiting = new Map(nodes.map(({ id }) => [id, (parents.get(id) ?? []).length]));
  const depth = new Map<string, number>();
  const ready = nodes.filter(({ id }) => waiting.get(id) === 0).map(({ id }) => id);
  const place = (id: string): void => {
    depth.set(id, Math.max(-1, ...(parents.get(id) ?? []).map((parent) => depth.get(parent) ?? -1)) + 1);
    for (const child of children.get(id) ?? []) {
      const left = (waiting.get(child) ?? 0) - 1;
      waiting.set(child, left);
      if (left === 0) ready.push(child);
    }
  };
  for (let next = ready.shift(); next !== undefined; next = ready.shift()) place(next);
  for (const { id } of nodes) if (!depth.has(id)) place(id);
  return depth;
}

function layersOf(nodes: readonly LayoutNode[], depth: ReadonlyMap<string, number>): string[][] {
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
