/** The graph of a published version, as its author arranged it. It can be looked at, and not changed. */
import { type ReactNode, memo, useMemo, useState } from 'react';
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
import type { WorkflowDetail } from '../api.ts';
import { TypeIcon } from '../graph/type-icon.tsx';
import { fit, useFit } from '../graph/use-fit.ts';
import { type DrawnEdge, type DrawnNode, definitionGraph } from '../layout/definition-graph.ts';
import { positionsOf } from '../layout/positions.ts';
import { isJsonObject } from '../../engine/json.ts';
import { CloseButton } from '../primitives/close-button.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';

interface StepData extends Record<string, unknown> {
  readonly label: string;
  readonly type: string;
}
type Step = Node<StepData, 'step'>;

const StepNode = memo(({ data: { label, type }, selected }: NodeProps<Step>): ReactNode => (
  <div className={`step ${selected ? 'selected' : ''}`}>
    <Handle type="target" position={Position.Left} isConnectable={false} />
    <span className="step-shape">
      <TypeIcon type={type} />
    </span>
    <span className="step-text">
      <b>
        <bdi>{label}</bdi>
      </b>
      <span className="dim">{type}</span>
    </span>
    <Handle type="source" position={Position.Right} isConnectable={false} />
  </div>
));
StepNode.displayName = 'StepNode';
const nodeTypes = { step: StepNode };

export function DefinitionGraph({ workflow }: { readonly workflow: WorkflowDetail }): ReactNode {
  const { frame, flow } = useFit<Step>();
  const [selected, setSelected] = useState<string | undefined>();
  const graph = useMemo(() => definitionGraph(workflow.nodes, workflow.edges), [workflow]);
  const positions = useMemo(() => positionsOf(workflow.nodes, graph.edges), [workflow, graph]);
  const nodes = graph.nodes.map(({ id, type, label }): Step => ({
    id,
    type: 'step',
    position: positions.get(id) ?? { x: 0, y: 0 },
    selected: id === selected,
    draggable: false,
    data: { label, type },
    ariaLabel: `${label}, ${type}`,
  }));
  const edges = graph.edges.map(drawnEdge);
  const shown = graph.nodes.find(({ id }) => id === selected);
  return (
    <div className={shown === undefined ? 'split' : 'split open'}>
      <div className="graph" ref={frame}>
        <ReactFlow
          onInit={(instance) => {
            flow.current = instance;
          }}
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          fitView
          fitViewOptions={fit}
          minZoom={0.05}
          maxZoom={2}
          zoomOnDoubleClick={false}
          onlyRenderVisibleElements
          nodesConnectable={false}
          edgesFocusable={false}
          onNodeClick={(_, node) => setSelected(node.id)}
          onPaneClick={() => setSelected(undefined)}
          onSelectionChange={({ nodes: [chosen] }) => {
            if (chosen !== undefined && chosen.id !== selected) setSelected(chosen.id);
          }}
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={20} />
          <Controls showInteractive={false} />
          {nodes.length > 30 ? <MiniMap pannable zoomable /> : null}
        </ReactFlow>
      </div>
      {shown === undefined ? null : <NodePanel workflow={workflow} node={shown} onClose={() => setSelected(undefined)} />}
    </div>
  );
}

const drawnEdge = ({ source, target, handle }: DrawnEdge, index: number): Edge => ({
  id: String(index),
  source,
  target,
  ...(handle === undefined ? {} : { label: handle }),
  className: 'taken',
  markerEnd: { type: MarkerType.ArrowClosed, color: 'var(--edge-taken)' },
});

interface PanelProps {
  readonly workflow: WorkflowDetail;
  readonly node: DrawnNode;
  readonly onClose: () => void;
}

function NodePanel({ workflow, node: { id, type, label }, onClose }: PanelProps): ReactNode {
  const config = workflow.nodes.find((node) => node['id'] === id)?.['config'];
  return (
    <aside aria-label={`Node ${id}`} className="panel">
      <div className="panel-head">
        <h2>
          <bdi>{label}</bdi>
        </h2>
        <CloseButton label="Close the node" onClose={onClose} />
      </div>
      <p className="panel-facts">
        <code>{id}</code>
        <span className="dim">{type}</span>
      </p>
      {isJsonObject(config) ? <ConfigView config={Object.entries(config)} /> : null}
    </aside>
  );
}

const ConfigView = ({ config }: { readonly config: readonly (readonly [string, unknown])[] }): ReactNode =>
  config.length === 0 ? (
    <p className="dim">It has no settings.</p>
  ) : (
    config.map(([key, value]) => (
      <div key={key}>
        <h3>{key}</h3>
        {typeof value === 'string' && value.includes('\n') ? <pre tabIndex={0}>{value}</pre> : <JsonTree value={value} />}
      </div>
    ))
  );
