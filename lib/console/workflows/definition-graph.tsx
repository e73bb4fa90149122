/** The graph of a published version, as its author arranged it. It can be looked at, and not changed. */
import { type ReactNode, useMemo, useState } from 'react';
import type { WorkflowDetail } from '../api.ts';
import { ReadOnlyGraph } from '../graph/read-only-graph.tsx';
import { type DrawnNode, definitionGraph } from '../layout/definition-graph.ts';
import { positionsOf } from '../layout/positions.ts';
import { isJsonObject } from '../../engine/json.ts';
import { CloseButton } from '../primitives/close-button.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';

export function DefinitionGraph({ workflow }: { readonly workflow: WorkflowDetail }): ReactNode {
  const [selected, setSelected] = useState<string | undefined>();
  const { nodes, edges } = useMemo(() => definitionGraph(workflow.nodes, workflow.edges), [workflow]);
  const positions = useMemo(() => positionsOf(workflow.nodes, edges), [workflow, edges]);
  const shown = nodes.find(({ id }) => id === selected);
  const clear = (): void => setSelected(undefined);
  return (
    <div className={shown === undefined ? 'split' : 'split open'}>
      <ReadOnlyGraph
        nodes={nodes}
        edges={edges}
        positions={positions}
        selected={selected}
        onSelect={setSelected}
        onClear={clear}
      />
      {shown === undefined ? null : <NodePanel workflow={workflow} node={shown} onClose={clear} />}
    </div>
  );
}

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
