/** The part of a graph that is in view, and whether a canvas draws it instead of elements. */

export interface FarNode {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly label: string;
  readonly tone: string;
  readonly isSelected: boolean;
}

export interface FarEdge {
  readonly source: string;
  readonly target: string;
  readonly tone: 'taken' | 'idle' | 'bad';
}

/** Of a node, in pixels of the graph. */
export const farSize = { width: 190, height: 70 } as const;

/** Each has a class `far-<name>` with its colour. */
export const toneNames = ['good', 'bad', 'wait', 'live', 'dim', 'taken', 'idle', 'ink', 'raised'] as const;

/** More elements than these in view cost more than a frame. */
const maxElements = 150;
/** Below this zoom the text of a node is too small to read. A small number of nodes stays elements, which keyboards and screen readers reach. */
const small = { zoom: 0.45, elements: 30 } as const;

interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}
interface Size {
  readonly width: number;
  readonly height: number;
}

/** The part of the graph that the frame shows. */
export const viewOf = ({ x, y, zoom }: Viewport, { width, height }: Size) => ({
  left: -x / zoom,
  top: -y / zoom,
  right: (width - x) / zoom,
  bottom: (height - y) / zoom,
});

/** @param viewport undefined: the whole graph is in view */
export function needsDrawing(
  nodes: readonly Pick<FarNode, 'x' | 'y'>[],
  viewport: Viewport | undefined,
  frame: Size | undefined,
): boolean {
  if (viewport === undefined || frame === undefined) return nodes.length > maxElements;
  const view = viewOf(viewport, frame);
  const limit = viewport.zoom < small.zoom ? small.elements : maxElements;
  let count = 0;
  for (const { x, y } of nodes) {
    if (x > view.right || x + farSize.width < view.left || y > view.bottom || y + farSize.height < view.top) continue;
    count += 1;
    if (count > limit) return true;
  }
  return false;
}
