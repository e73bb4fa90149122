/** The graph that the run had, coloured by what happened: nodes by status, edges by whether they were taken. */
import { type ReactNode, memo, useMemo } from 'react';
import { useQuery } from '@tanstack/react-query';
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
} from '@xyflow/react';
import { type Run, type RunNode, api } from '../api.ts';
import { fit, useFit } from '../graph/use-fit.ts';
import { type DrawnEdge, type DrawnGraph, definitionGraph } from '../layout/definition-graph.ts';
import { layered } from '../layout/layered.ts';
import { durationText } from '../primitives/duration.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Shape, toneOf, wordOf } from '../primitives/status.tsx';
import { wasTaken } from './edges-taken.ts';

interface StepData extends Record<string, unknown> {
  readonly label: string;
  readonly type: string;
  readonly status: string;
  readonly detail: string;
}
type Step = Node<StepData, 'step'>;

const StepNode = memo(({ data: { label, type, status, detail }, selected }: NodeProps<Step>): ReactNode => (
  <div className={`step ${toneOf(status)} ${selected ? 'selected' : ''}`}>
    <Handle type="target" position={Position.Left} isConnectable={false} />
    <span className="step-shape">
      <Shape status={status} />
    </span>
    <span className="step-text">
      <b>
        <bdi>{label}</bdi>
      </b>
      <span className="dim">{type}</span>
    </span>
    <span className="step-foot">
      <span className={toneOf(status)}>{status === 'pending' ? 'not reached' : wordOf(status)}</span>
      <span className="dim">{detail}</span>
    </span>
    <Handle type="source" position={Position.Right} isConnectable={false} />
  </div>
));
StepNode.displayName = 'StepNode';
const nodeTypes = { step: StepNode };

interface RunGraphProps {
  readonly run: Run;
  readonly selected: string | undefined;
  readonly onSelect: (nodeId: string) => void;
}

export function RunGraph({ run, selected, onSelect }: RunGraphProps): ReactNode {
  const version = run.workflowVersion ?? 1;
  const workflow = useQuery({
    queryKey: ['workflow', run.workflowName, version],
    queryFn: ({ signal }) => api.workflow(run.workflowName, version, signal),
    // A version never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data } = workflow;
  const graph = useMemo(() => (data === undefined ? undefined : definitionGraph(data.nodes, data.edges)), [data]);
  if (graph !== undefined) return <Canvas graph={graph} run={run} selected={selected} onSelect={onSelect} />;
  if (workflow.error === null) return <Loading />;
  return <ErrorText error={workflow.error} onRetry={() => void workflow.refetch()} />;
}

interface CanvasProps extends RunGraphProps {
  readonly graph: DrawnGraph;
}

function Canvas({ graph, run, selected, onSelect }: CanvasProps): ReactNode {
  const { frame, flow } = useFit<Step>();
  const positions = useMemo(() => layered(graph.nodes, graph.edges), [graph]);
  const states = new Map(run.nodes.filter(({ iteration }) => iteration === undefined).map((node) => [node.nodeId, node]));
  const nodes: Step[] = graph.nodes.map(({ id, type, label }) => {
    const state = states.get(id);
    const status = state?.status ?? 'pending';
    return {
      id,
      type: 'step',
      position: positions.get(id) ?? { x: 0, y: 0 },
      selected: id === selected,
      draggable: false,
      data: { label, type, status, detail: detailOf(state) },
      ariaLabel: `${label}, ${type}, ${wordOf(status)}`,
    };
  });
  return (
    <div className="graph" ref={frame}>
      <ReactFlow
        onInit={(instance) => {
          flow.current = instance;
        }}
        nodes={nodes}
        edges={graph.edges.map((edge, index) => drawnEdge(edge, index, states))}
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
        onSelectionChange={({ nodes: [chosen] }) => {
          if (chosen !== undefined && chosen.id !== selected) onSelect(chosen.id);
        }}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={20} />
        <Controls showInteractive={false} />
        {nodes.length > 30 ? <MiniMap pannable zoomable /> : null}
      </ReactFlow>
    </div>
  );
}

function drawnEdge({ source, target, handle }: DrawnEdge, index: number, states: ReadonlyMap<string, RunNode>): Edge {
  const isTaken = wasTaken(states.get(source), states.get(target), handle);
  return {
    id: String(index),
    source,
    target,
    className: isTaken ? 'taken' : 'idle',
    ...(handle === undefined ? {} : { label: handle }),
    markerEnd: { type: MarkerType.ArrowClosed, color: isTaken ? 'var(--edge-taken)' : 'var(--edge-idle)' },
  };
}

const detailOf = (node: RunNode | undefined): string => {
  if (node === undefined) return '';
  const attempts = node.attempt > 1 ? [`attempt ${node.attempt}`] : [];
  const items = node.iterations === undefined ? [] : [`${node.iterations.ended}/${node.iterations.items}`];
  const took = node.durationMs === undefined ? [] : [durationText(node.durationMs)];
  return [...attempts, ...items, ...took].join(', ');
};
