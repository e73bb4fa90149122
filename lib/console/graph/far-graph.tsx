/**
 * A graph as a drawing, for what no one reads node by node: many nodes in view, or small ones. A drawing of 2,000 nodes takes under a
 * millisecond a frame, where as many elements take more than a hundred. Zooming in brings the elements back.
 */
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { type ReactFlowInstance, type Viewport, useStore } from '@xyflow/react';
import { type FarEdge, type FarNode, farSize, needsDrawing, toneNames, viewOf } from './far-view.ts';

interface FarGraphProps {
  readonly nodes: readonly FarNode[];
  readonly edges: readonly FarEdge[];
  readonly label: string;
}

/** A child of ReactFlow: it follows its viewport. */
export function FarGraph({ nodes, edges, label }: FarGraphProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [left, top, zoom] = useStore(({ transform }) => transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const colours = useColours(canvas);
  useEffect(() => {
    const { current } = canvas;
    const context = current?.getContext('2d') ?? null;
    if (current === null || context === null || width === 0 || colours === undefined) return;
    const ratio = devicePixelRatio;
    if (current.width !== Math.round(width * ratio)) current.width = Math.round(width * ratio);
    if (current.height !== Math.round(height * ratio)) current.height = Math.round(height * ratio);
    draw(context, { nodes, edges, colours, ratio, viewport: { x: left, y: top, zoom }, width, height });
  }, [nodes, edges, colours, left, top, zoom, width, height]);
  return (
    <canvas ref={canvas} className="far-graph" role="img" aria-label={label}>
      {toneNames.map((tone) => (
        <i key={tone} className={`far-${tone}`} />
      ))}
    </canvas>
  );
}

type Colours = Readonly<Record<string, string>>;

/** The theme's colours, from the elements inside the canvas: it takes no custom properties. */
function useColours(canvas: { readonly current: HTMLCanvasElement | null }): Colours | undefined {
  const [colours, setColours] = useState<Colours | undefined>();
  useEffect(() => {
    const read = (): void => {
      const probes = [...(canvas.current?.children ?? [])];
      setColours(Object.fromEntries(probes.map((probe, index) => [toneNames[index] ?? '', getComputedStyle(probe).color])));
    };
    read();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', read);
    return () => scheme.removeEventListener('change', read);
  }, [canvas]);
  return colours;
}

interface Drawing {
  readonly nodes: readonly FarNode[];
  readonly edges: readonly FarEdge[];
  readonly colours: Colours;
  readonly ratio: number;
  readonly viewport: Viewport;
  readonly width: number;
  readonly height: number;
}

/** Below this zoom, texts are a few pixels high. */
const readableZoom = 0.3;

function draw(context: CanvasRenderingContext2D, { nodes, edges, colours, ratio, viewport, width, height }: Drawing): void {
  const { x, y, zoom } = viewport;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.setTransform(ratio * zoom, 0, 0, ratio * zoom, ratio * x, ratio * y);
  const view = viewOf(viewport, { width, height });
  const at = new Map(nodes.map((node) => [node.id, node]));
  for (const [tone, ofTone] of Map.groupBy(edges, (edge) => edge.tone)) {
    context.beginPath();
    for (const { source, target } of ofTone) {
      const [from, to] = [at.get(source), at.get(target)];
      if (from === undefined || to === undefined) continue;
      const [startX, startY, endX, endY] = [from.x + farSize.width, from.y + farSize.height / 2, to.x, to.y + farSize.height / 2];
      if (Math.max(startX, endX) < view.left || Math.min(startX, endX) > view.right) continue;
      if (Math.max(startY, endY) < view.top || Math.min(startY, endY) > view.bottom) continue;
      context.moveTo(startX, startY);
      const middle = (startX + endX) / 2;
      context.bezierCurveTo(middle, startY, middle, endY, endX, endY);
    }
    context.strokeStyle = colours[tone] ?? 'gray';
    context.lineWidth = 1 / Math.min(1, zoom);
    context.stroke();
  }
  context.font = '600 15px system-ui, sans-serif';
  context.textBaseline = 'middle';
  for (const node of nodes) {
    if (node.x > view.right || node.x + farSize.width < view.left || node.y > view.bottom || node.y + farSize.height < view.top)
      continue;
    context.fillStyle = colours['raised'] ?? 'white';
    context.strokeStyle = colours[node.tone] ?? 'gray';
    context.lineWidth = (node.isSelected ? 4 : 1.5) / Math.min(1, zoom);
    context.beginPath();
    context.roundRect(node.x, node.y, farSize.width, farSize.height, 8);
    context.fill();
    context.stroke();
    if (zoom < readableZoom) continue;
    context.fillStyle = colours['ink'] ?? 'black';
    context.fillText(node.label, node.x + 12, node.y + farSize.height / 2, farSize.width - 24);
  }
}

interface Far {
  /** the nodes are drawn, and the flow has none */
  readonly isFar: boolean;
  readonly onMove: (viewport: Viewport) => void;
  /** the node at a point of the screen */
  readonly nodeAt: (point: { readonly clientX: number; readonly clientY: number }) => string | undefined;
  /** shows the whole graph, which a flow without nodes cannot */
  readonly fit: () => void;
}

/** Whether to draw the graph, from what is in view. */
export function useFar(
  nodes: readonly Pick<FarNode, 'id' | 'x' | 'y'>[],
  frame: { readonly current: HTMLElement | null },
  flow: { readonly current: Pick<ReactFlowInstance, 'fitBounds' | 'screenToFlowPosition' | 'getViewport'> | undefined },
): Far {
  const [isFar, setFar] = useState(() => needsDrawing(nodes, undefined, undefined));
  const latest = useRef(nodes);
  latest.current = nodes;
  const onMove = useCallback(
    (viewport: Viewport): void => {
      const { current } = frame;
      if (current === null) return;
      setFar(needsDrawing(latest.current, viewport, { width: current.clientWidth, height: current.clientHeight }));
    },
    [frame],
  );
  const fit = useCallback((): void => {
    const [xs, ys] = [latest.current.map(({ x }) => x), latest.current.map(({ y }) => y)];
    if (xs.length === 0) return;
    const [x, y] = [Math.min(...xs), Math.min(...ys)];
    const bounds = { x, y, width: Math.max(...xs) + farSize.width - x, height: Math.max(...ys) + farSize.height - y };
    void flow.current?.fitBounds(bounds, { padding: 0.08 });
  }, [flow]);
  const nodeAt = useCallback<Far['nodeAt']>(
    ({ clientX, clientY }) => {
      const point = flow.current?.screenToFlowPosition({ x: clientX, y: clientY });
      if (point === undefined) return undefined;
      return latest.current.findLast(
        ({ x, y }) => point.x >= x && point.x <= x + farSize.width && point.y >= y && point.y <= y + farSize.height,
      )?.id;
    },
    [flow],
  );
  return { isFar, onMove, nodeAt, fit };
}
