/** A graph that is looked at and not changed: of a run, coloured by what happened, or of a published version. */
import { type ReactNode, type RefObject, memo, useEffect, useRef } from 'react';
import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  MiniMap,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  type ReactFlowInstance,
  type XYPosition,
} from '@xyflow/react';
import type { DrawnEdge, DrawnNode } from '../layout/definition-graph.ts';
import { Shape, toneOf, wordOf } from '../primitives/status.tsx';
import { FarGraph, useFar } from './far-graph.tsx';
import type { FarEdge, FarNode } from './far-view.ts';
import { TypeIcon } from './type-icon.tsx';

/** What became of a node in a run. */
interface StepStatus {
  readonly status: string;
  readonly detail: string;
}

interface StepData extends Record<string, unknown> {
  readonly label: string;
  readonly type: string;
  /** absent: the graph is of a version, and not of a run */
  readonly reached?: StepStatus;
}
type Step = Node<StepData, 'step'>;

const StepNode = memo(({ data: { label, type, reached }, selected }: NodeProps<Step>): ReactNode => (
  <div className={`step ${reached === undefined ? '' : toneOf(reached.status)} ${selected ? 'selected' : ''}`}>
    <Handle type="target" position={Position.Left} isConnectable={false} />
    <span className="step-shape">{reached === undefined ? <TypeIcon type={type} /> : <Shape status={reached.status} />}</span>
    <span className="step-text">
      <b>
        <bdi>{label}</bdi>
      </b>
      <span className="dim">{type}</span>
    </span>
    {reached === undefined ? null : (
      <span className="step-foot">
        <span className={toneOf(reached.status)}>{reached.status === 'pending' ? 'not reached' : wordOf(reached.status)}</span>
        <span className="dim">{reached.detail}</span>
      </span>
    )}
    <Handle type="source" position={Position.Right} isConnectable={false} />
  </div>
));
StepNode.displayName = 'StepNode';
const nodeTypes = { step: StepNode };

interface ReadOnlyGraphProps {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  readonly positions: ReadonlyMap<string, XYPosition>;
  readonly selected: string | undefined;
  readonly onSelect: (nodeId: string) => void;
  /** absent: a node stays selected */
  readonly onClear?: () => void;
  /** of a run: what became of a node */
  readonly reachedBy?: (nodeId: string) => StepStatus;
  /** of a run: whether it took the edge; absent: every edge is drawn as taken */
  readonly isTaken?: (edge: DrawnEdge) => boolean;
}

export function ReadOnlyGraph({
  nodes: drawnNodes,
  edges: drawnEdges,
  positions,
  selected,
  onSelect,
  onClear,
  reachedBy,
  isTaken = () => true,
}: ReadOnlyGraphProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const flow = useRef<ReactFlowInstance<Step> | undefined>(undefined);
  const states = { positions, selected, reachedBy };
  const farNodes = drawnNodes.map((node) => farNodeOf(node, states));
  const far = useFar(farNodes, frame, flow);
  useFit(frame, flow, far);
  return (
    <div className="graph" ref={frame}>
      <ReactFlow
        onInit={(instance) => {
          flow.current = instance;
          if (far.isFar) far.fit();
        }}
        nodes={far.isFar ? [] : drawnNodes.map((node) => stepOf(node, states))}
        edges={far.isFar ? [] : drawnEdges.map((edge, index) => edgeOf(edge, index, isTaken(edge)))}
        onViewportChange={far.onMove}
        nodeTypes={nodeTypes}
        fitView
        fitViewOptions={fit}
        minZoom={0.05}
        maxZoom={2}
        zoomOnDoubleClick={false}
        onlyRenderVisibleElements
        nodesConnectable={false}
        edgesFocusable={false}
        onNodeClick={(_, node) => onSelect(node.id)}
        onPaneClick={(event) => {
          const id = far.isFar ? far.nodeAt(event) : undefined;
          (id === undefined ? onClear : () => onSelect(id))?.();
        }}
        // Only what a person does is a change, also by the keyboard. A node that the page deselects is none.
        onNodesChange={(changes) => {
          const chosen = changes.find((change) => change.type === 'select' && change.selected);
          if (chosen?.type === 'select' && chosen.id !== selected) onSelect(chosen.id);
        }}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={20} />
        <Controls showInteractive={false} onFitView={far.fit} />
        {drawnNodes.length > 30 && !far.isFar ? <MiniMap pannable zoomable /> : null}
        {far.isFar ? (
          <FarGraph
            nodes={farNodes}
            edges={drawnEdges.map((edge) => farEdgeOf(edge, isTaken(edge)))}
            label={`A graph of ${drawnNodes.length} nodes. Zoom in to reach each.`}
          />
        ) : null}
      </ReactFlow>
    </div>
  );
}

const farEdgeOf = (edge: DrawnEdge, isTaken: boolean): FarEdge => ({ ...edge, tone: isTaken ? 'taken' : 'idle' });

interface States extends Pick<ReadOnlyGraphProps, 'positions' | 'selected'> {
  readonly reachedBy: ReadOnlyGraphProps['reachedBy'] | undefined;
}

function farNodeOf({ id, label }: DrawnNode, { positions, selected, reachedBy }: States): FarNode {
  const reached = reachedBy?.(id);
  const tone = reached === undefined ? 'idle' : toneOf(reached.status);
  return { id, label, tone, isSelected: id === selected, ...(positions.get(id) ?? { x: 0, y: 0 }) };
}

function stepOf({ id, type, label }: DrawnNode, { positions, selected, reachedBy }: States): Step {
  const reached = reachedBy?.(id);
  return {
    id,
    type: 'step',
    position: positions.get(id) ?? { x: 0, y: 0 },
    selected: id === selected,
    draggable: false,
    data: { label, type, ...(reached === undefined ? {} : { reached }) },
    ariaLabel: [label, type, ...(reached === undefined ? [] : [wordOf(reached.status)])].join(', '),
  };
}

const edgeOf = ({ source, target, handle }: DrawnEdge, index: number, isTaken: boolean): Edge => ({
  id: String(index),
  source,
  target,
  className: isTaken ? 'taken' : 'idle',
  ...(handle === undefined ? {} : { label: handle }),
  markerEnd: { type: MarkerType.ArrowClosed, color: isTaken ? 'var(--edge-taken)' : 'var(--edge-idle)' },
});

const fit = { maxZoom: 1, padding: 0.08 };

/** Fits the graph again when its frame gets another size, for example beside an opened panel. */
function useFit(
  frame: RefObject<HTMLDivElement | null>,
  flow: RefObject<ReactFlowInstance<Step> | undefined>,
  { isFar, fit: fitFar }: Pick<ReturnType<typeof useFar>, 'isFar' | 'fit'>,
): void {
  const latest = useRef(isFar);
  latest.current = isFar;
  useEffect(() => {
    if (frame.current === null) return undefined;
    const resizes = new ResizeObserver(() => {
      if (latest.current) fitFar();
      else void flow.current?.fitView(fit);
    });
    resizes.observe(frame.current);
    return () => resizes.disconnect();
  }, [frame, flow, fitFar]);
}
