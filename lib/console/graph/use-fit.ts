/** Fits a graph again when its frame gets another size, for example beside an opened panel. */
import { type RefObject, useEffect, useRef } from 'react';
import type { Edge, Node, ReactFlowInstance } from '@xyflow/react';

export const fit = { maxZoom: 1, padding: 0.08 };

interface Fitted<GraphNode extends Node> {
  readonly frame: RefObject<HTMLDivElement | null>;
  readonly flow: RefObject<ReactFlowInstance<GraphNode> | undefined>;
}

export function useFit<GraphNode extends Node>(): Fitted<GraphNode> {
  const frame = useRef<HTMLDivElement>(null);
  const flow = useRef<ReactFlowInstance<GraphNode, Edge> | undefined>(undefined);
  useEffect(() => {
    if (frame.current === null) return undefined;
    const resizes = new ResizeObserver(() => void flow.current?.fitView(fit));
    resizes.observe(frame.current);
    return () => resizes.disconnect();
  }, []);
  return { frame, flow };
}
