/** Draws a workflow as SVG: layers from left to right, laid out by dagre. The same definition gives the same text. */
import { Graph, layout } from '@dagrejs/dagre';
import { type PictureEdge, type PictureGraph, type PictureNode, pictureGraph } from './graph.ts';
import { at, shapeOf } from './shapes.ts';

/** of a monospaced font, in widths of its size */
const letter = 0.61;
const sizes = { label: 14, type: 11, edge: 12 } as const;
const lineHeight = 16;
const nodeHeight = 48;
const margin = 24;

interface Point {
  readonly x: number;
  readonly y: number;
}
interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

const widthOf = (lines: readonly string[], size: number): number =>
  Math.max(0, ...lines.map((line) => line.length)) * size * letter;

export function drawWorkflow(body: unknown): string {
  const graph = pictureGraph(body);
  const laid = layOut(graph);
  const { width = 0, height = 0 } = laid.graph();
  const loops = graph.nodes.filter((node) => graph.nodes.some(({ loop }) => loop === node.id));
  const parts = [
    ...loops.map((loop) => bodyBox(loop, boxOf(laid.node(bodyId(loop.id))))),
    ...graph.edges.map((edge, index) => edgeLine(edge, laid.edge(edge.source, edge.target, `${index}`), graph, laid)),
    ...graph.nodes.map((node) => nodeBox(node, boxOf(laid.node(node.id)))),
    ...graph.edges.map((edge, index) => edgeLabel(edge, laid.edge(edge.source, edge.target, `${index}`))),
  ];
  return svg(graph.name, Math.ceil(width), Math.ceil(height), parts);
}

const bodyId = (loop: string): string => `body of ${loop}`;
const boxOf = ({ x = 0, y = 0, width = 0, height = 0 }: Partial<Box>): Box => ({ x, y, width, height });

function layOut({ nodes, edges }: PictureGraph) {
  const graph = new Graph({ multigraph: true, compound: true });
  graph.setGraph({ rankdir: 'LR', nodesep: 36, ranksep: 44, edgesep: 24, marginx: margin, marginy: margin });
  for (const { id, type, label } of nodes) {
    const text = Math.max(widthOf([label], sizes.label), widthOf([type], sizes.type));
    graph.setNode(id, { width: Math.ceil(text + shapeOf(type).margin), height: nodeHeight });
  }
  for (const { id, loop } of nodes) {
    if (loop === undefined) continue;
    if (!graph.hasNode(bodyId(loop))) graph.setNode(bodyId(loop), {});
    graph.setParent(id, bodyId(loop));
  }
  for (const { id, loop } of nodes)
    if (loop !== undefined && graph.hasNode(bodyId(id))) graph.setParent(bodyId(id), bodyId(loop));
  for (const [index, { source, target, lines }] of edges.entries()) graph.setEdge(source, target, labelSize(lines), `${index}`);
  layout(graph);
  return graph;
}

const labelSize = (lines: readonly string[]) =>
  lines.length === 0
    ? { width: 0, height: 0, labelpos: 'c' as const }
    : { width: Math.ceil(widthOf(lines, sizes.edge)) + 12, height: lines.length * lineHeight + 4, labelpos: 'c' as const };

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const textAt = (kind: string, { x, y }: Point, text: string): string =>
  `<text class="${kind}" x="${at(x)}" y="${at(y)}">${escaped(text)}</text>`;

const nodeBox = ({ type, label }: PictureNode, box: Box): string =>
  `<g class="node">${shapeOf(type).outline(box)}${textAt('type', { x: box.x, y: box.y - 9 }, type)}${textAt('label', { x: box.x, y: box.y + 7 }, label)}</g>`;

const bodyBox = ({ label }: PictureNode, { x, y, width, height }: Box): string => {
  const [left, top] = [x - width / 2, y - height / 2];
  return `<g class="body"><rect x="${at(left)}" y="${at(top)}" width="${at(width)}" height="${at(height)}" rx="10"/>${textAt('note', { x: left + 8, y: top - 9 }, `body of ${label}`)}</g>`;
};

/** The end of an edge on the outline of a node, instead of on its box. */
function onOutline(point: Point, box: Box, type: string): Point {
  const isAtSide = Math.abs(Math.abs(point.x - box.x) - box.width / 2) < 1;
  if (!isAtSide) return point;
  const inset = shapeOf(type).inset?.(Math.abs(point.y - box.y) / (box.height / 2), box) ?? 0;
  return { x: point.x + (point.x < box.x ? inset : -inset), y: point.y };
}

type Laid = ReturnType<typeof layOut>;

/** Labels of the edges of one node stand in one column. Each gets the width of the column, so that no edge crosses another label. */
const columnWidth = ({ source }: PictureEdge, edges: readonly PictureEdge[]): number =>
  Math.max(...edges.filter((edge) => edge.source === source).map(({ lines }) => labelSize(lines).width));

/** The first and the last point. Edges to the right leave and enter in the middle of a side, unless an edge leads back between them. */
function endsOf(edge: PictureEdge, points: readonly Point[], { nodes, edges }: PictureGraph, laid: Laid): readonly Point[] {
  const ends = [edge.source, edge.target].map((id) => ({
    box: boxOf(laid.node(id)),
    type: nodes.find((node) => node.id === id)?.type ?? '',
  }));
  const [from, to] = ends;
  const hasReverse = edges.some(({ source, target }) => source === edge.target && target === edge.source);
  const isToTheRight = from !== undefined && to !== undefined && from.box.x + from.box.width / 2 < to.box.x - to.box.width / 2;
  return ends.map(({ box, type }, index) => {
    const laidOut = points.at(-index) ?? box;
    const middle = { x: box.x + (index === 0 ? 1 : -1) * (box.width / 2), y: box.y };
    return onOutline(isToTheRight && !hasReverse ? middle : laidOut, box, type);
  });
}

/** Curves that are horizontal at each point, and straight through the label. */
function edgeLine(
  edge: PictureEdge,
  laidEdge: { readonly points?: readonly Point[]; readonly x?: number; readonly y?: number },
  graph: PictureGraph,
  laid: Laid,
): string {
  const { points = [], x = 0, y = 0 } = laidEdge;
  const [first, last] = endsOf(edge, points, graph, laid);
  if (first === undefined || last === undefined) return '';
  const half = (Math.sign(last.x - first.x) * columnWidth(edge, graph.edges)) / 2;
  const through =
    edge.lines.length > 0
      ? [
          { x: x - half, y },
          { x: x + half, y },
        ]
      : points.slice(1, -1);
  const all = [first, ...through, last];
  const curves = all.slice(1).map((point, index) => {
    const middle = at(((all[index]?.x ?? 0) + point.x) / 2);
    return `C${middle} ${at(all[index]?.y ?? 0)} ${middle} ${at(point.y)} ${at(point.x)} ${at(point.y)}`;
  });
  const kind = edge.isError ? { name: 'edge error', marker: 'open' } : { name: 'edge', marker: 'arrow' };
  return `<path class="${kind.name}" d="M${at(first.x)} ${at(first.y)}${curves.join('')}" marker-end="url(#${kind.marker})"/>`;
}

function edgeLabel({ lines, isError }: PictureEdge, { x = 0, y = 0 }: { readonly x?: number; readonly y?: number }): string {
  if (lines.length === 0) return '';
  const { width, height } = labelSize(lines);
  const texts = lines.map((line, index) =>
    textAt('edge-label', { x, y: y + (index - (lines.length - 1) / 2) * lineHeight }, line),
  );
  const frame = `<rect x="${at(x - width / 2)}" y="${at(y - height / 2)}" width="${at(width)}" height="${at(height)}" rx="4"/>`;
  return `<g class="${isError ? 'mark error' : 'mark'}">${frame}${texts.join('')}</g>`;
}

/** Colours follow the reader's theme. Everything is legible without them: errors are dashed and have an open arrow. */
const style = `
  svg { --paper: #fff; --ink: #1b1f24; --soft: #57606a; --fill: #f3f5f8; --line: #57606a; --error: #a40e26; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --ink: #e6edf3; --soft: #9aa5b1; --fill: #1b222b; --line: #9aa5b1; --error: #ff8f8f; }
  }
  text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; text-anchor: middle; dominant-baseline: central; fill: var(--ink); }
  .paper { fill: var(--paper); }
  .node rect, .node polygon, .node path { fill: var(--fill); stroke: var(--ink); stroke-width: 1.5; stroke-linejoin: round; }
  .node path + path, .node rect + path, .node polygon + path { fill: none; }
  .label { font-size: ${sizes.label}px; font-weight: 600; }
  .type { font-size: ${sizes.type}px; fill: var(--soft); }
  .edge { fill: none; stroke: var(--line); stroke-width: 1.5; }
  .edge.error { stroke: var(--error); stroke-dasharray: 6 4; }
  .mark rect { fill: var(--paper); }
  .mark.error rect { stroke: var(--error); stroke-dasharray: 3 3; }
  .edge-label { font-size: ${sizes.edge}px; }
  .body rect { fill: none; stroke: var(--soft); stroke-dasharray: 2 4; }
  .note { font-size: ${sizes.type}px; fill: var(--soft); text-anchor: start; }
  #arrow path { fill: var(--line); }
  #open path { fill: var(--paper); stroke: var(--error); stroke-width: 1.5; }`;

const marker = (id: string): string =>
  `<marker id="${id}" viewBox="0 0 12 12" refX="10" refY="6" markerWidth="10" markerHeight="10" markerUnits="userSpaceOnUse" orient="auto"><path d="M1 1L11 6L1 11Z"/></marker>`;

const svg = (name: string, width: number, height: number, parts: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Graph of the workflow ${escaped(name)}">
<style>${style}
</style>
<defs>${marker('arrow')}${marker('open')}</defs>
<rect class="paper" width="${width}" height="${height}" rx="8"/>
${parts.filter((part) => part !== '').join('\n')}
</svg>
`;
