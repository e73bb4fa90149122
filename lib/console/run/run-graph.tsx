/** The graph that the run had, coloured by what happened: nodes by status, edges by whether they were taken. */
import { type ReactNode, memo, useMemo } from 'react';
import { useQuery } from '@tanstack/react-query';
import { Background, Controls, type Edge, Handle, MarkerType, MiniMap, type Node, type NodeProps, Position, ReactFlow } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { type Run, type RunNode, api } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { shapeOf, toneOf } from '../primitives/status.tsx';
import { layered } from '../layout/layered.ts';

type Shown = Node<{ readonly label: string; readonly type: string; readonly status: string; readonly detail: string }, 'step'>;

const StepNode = memo(({ data: { label, type, status, detail }, selected }: NodeProps<Shown>): ReactNode => (
  <div className={`step ${toneOf(status)} ${selected ? 'selected' : ''}`}>
    <Handle type="target" position={Position.Left} isConnectable={false} />
    <b>
      <bdi>{label}</bdi>
    </b>
    <span className="dim">{type}</span>
    <span className={`status ${toneOf(status)}`}>
      <span aria-hidden="true">{shapeOf(status)}</span> {status} {detail}
    </span>
    <Handle type="source" position={Position.Right} isConnectable={false} />
  </div>
));
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
  const definition = workflow.data;
  const positions = useMemo(() => (definition === undefined ? undefined : layered(definition.nodes, definition.edges)), [definition]);
  if (definition === undefined || positions === undefined)
    return workflow.error === null ? (
      <p aria-busy="true">Loading…</p>
    ) : (
      <ErrorText error={workflow.error} onRetry={() => void workflow.refetch()} />
    );
  const states = new Map(run.nodes.filter(({ iteration }) => iteration === undefined).map((node) => [node.nodeId, node]));
  const nodes: Shown[] = definition.nodes.map(({ id, type, label }) => {
    const state = states.get(id);
    const position = positions.get(id) ?? { x: 0, y: 0 };
    return {
      id,
      type: 'step',
      position,
      selected: id === selected,
      draggable: false,
      data: { label: label ?? id, type, status: state?.status ?? 'pending', detail: detailOf(state) },
      ariaLabel: `${label ?? id}, ${type}, ${state?.status ?? 'pending'}`,
    };
  });
  const edges: Edge[] = definition.edges.map(({ source, target, sourceHandle }, index) => {
    const isTaken = wasTaken(states.get(source), states.get(target), sourceHandle ?? undefined);
    return {
      id: String(index),
      source,
      target,
      className: isTaken ? 'taken' : 'idle',
      label: sourceHandle === undefined || sourceHandle === null || sourceHandle === 'output' ? undefined : sourceHandle,
      markerEnd: { type: MarkerType.ArrowClosed },
    };
  });
  return (
    <div className="graph">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        fitView
        minZoom={0.05}
        onlyRenderVisibleElements
        nodesConnectable={false}
        onNodeClick={(_, node) => onSelect(node.id)}
        proOptions={{ hideAttribution: true }}
      >
        <Background />
        <Controls showInteractive={false} />
        {nodes.length > 30 ? <MiniMap pannable zoomable /> : null}
      </ReactFlow>
    </div>
  );
}

const detailOf = (node: RunNode | undefined): string => {
  if (node === undefined) return '';
  const attempts = node.attempt > 1 ? `attempt ${node.attempt} ` : '';
  const items = node.iterations === undefined ? '' : `${node.iterations.ended}/${node.iterations.items} `;
  return `${attempts}${items}${node.durationMs === undefined ? '' : durationText(node.durationMs)}`;
};

const isDone = (status: string | undefined): boolean => status !== undefined && !['pending', 'skipped', 'cancelled'].includes(status);

/** Whether the run went along the edge: its source ended by this handle, and its target was reached. */
function wasTaken(source: RunNode | undefined, target: RunNode | undefined, handle: string | undefined): boolean {
  if (source === undefined || !isDone(target?.status)) return false;
  const hasFailed = ['failed', 'timed_out', 'blocked', 'invalidated'].includes(source.status);
  if (handle === 'error') return hasFailed;
  return source.status === 'completed' || (source.iterations !== undefined && handle === 'loop');
}
