/** The graph as a list: each node with its edges. It does by keyboard, and read aloud, all that the canvas does. */
import { type ReactNode, useState } from 'react';
import { mainHandle } from '../../engine/graph/outcome.ts';
import type { NodeDefinition } from '../../engine/graph/definition.ts';
import { TypeIcon } from '../graph/type-icon.tsx';
import { Icon } from '../primitives/icon.tsx';
import { layered } from '../layout/layered.ts';
import { handlesOf } from './catalogue.ts';
import * as commands from './commands.ts';
import type { PlacedFinding } from './findings.ts';
import type { NodeResults } from './test-run.ts';
import type { Editor } from './use-editor.ts';

interface OutlineProps {
  readonly editor: Editor;
  readonly results: NodeResults;
}

/** In the order in which a run reaches them. */
const inOrder = ({ document: { definition } }: Editor): readonly NodeDefinition[] => {
  const layers = layered(definition.nodes, definition.edges);
  return definition.nodes.toSorted((one, other) => (layers.get(one.id)?.x ?? 0) - (layers.get(other.id)?.x ?? 0));
};

export const Outline = ({ editor, results }: OutlineProps): ReactNode => (
  <ol className="outline" aria-label="Nodes">
    {inOrder(editor).map((node) => (
      <OutlineNode key={node.id} editor={editor} node={node} results={results} />
    ))}
  </ol>
);

const countText = (findings: readonly PlacedFinding[]): string =>
  findings.length === 1 ? '1 finding' : `${findings.length} findings`;

function OutlineNode({ editor, node, results }: OutlineProps & { readonly node: NodeDefinition }): ReactNode {
  const { document, findings, run } = editor;
  const isSelected = document.selection.nodes.includes(node.id);
  const own = findings.filter(({ nodeId }) => nodeId === node.id);
  const status = results.get(node.id)?.status;
  return (
    <li className={isSelected ? 'outline-node selected' : 'outline-node'}>
      <div className="outline-head">
        <button
          type="button"
          className="outline-name"
          aria-pressed={isSelected}
          onClick={() => run((each) => commands.select(each, node.id))}
        >
          <TypeIcon type={node.type} />
          <b>
            <bdi>{node.label ?? node.id}</bdi>
          </b>
          <span className="dim">
            {node.id}, {node.type}
          </span>
        </button>
        {status === undefined ? null : <span className="small">{status}</span>}
        {own.length === 0 ? null : <span className="bad small">{countText(own)}</span>}
        <button
          type="button"
          className="quiet end"
          aria-label={`Remove ${node.id}`}
          onClick={() => run((each) => commands.removeNodes(each, [node.id]))}
        >
          <Icon name="cross" />
        </button>
      </div>
      <ul className="outline-edges" aria-label={`Edges of ${node.id}`}>
        <Edges editor={editor} node={node} />
        <Connect editor={editor} node={node} />
      </ul>
    </li>
  );
}

const Edges = ({ editor: { document, run }, node }: { readonly editor: Editor; readonly node: NodeDefinition }): ReactNode =>
  document.definition.edges.map((edge, index) =>
    edge.source === node.id ? (
      <li key={`${edge.sourceHandle ?? mainHandle} ${edge.target} ${edge.targetParamLabel ?? ''}`}>
        <button
          type="button"
          className="quiet"
          aria-pressed={document.selection.edge === index}
          onClick={() => run((each) => commands.selectEdge(each, index))}
        >
          {edge.sourceHandle ?? mainHandle} <Icon name="right" /> {edge.target}
        </button>
        <button
          type="button"
          className="quiet"
          aria-label={`Remove the edge from ${node.id} to ${edge.target}`}
          onClick={() => run((each) => commands.removeEdge(each, index))}
        >
          <Icon name="cross" />
        </button>
      </li>
    ) : null,
  );

/** Connects a handle of the node to another node. */
function Connect({ editor: { document, run }, node }: { readonly editor: Editor; readonly node: NodeDefinition }): ReactNode {
  const handles = handlesOf(node, document.definition.edges);
  const [chosen, setChosen] = useState<string | undefined>();
  const handle = chosen !== undefined && handles.includes(chosen) ? chosen : handles[0];
  const targets = document.definition.nodes.filter(({ id, type }) => id !== node.id && type !== 'start');
  if (handle === undefined || targets.length === 0) return null;
  return (
    <li className="connect">
      <select aria-label={`Handle of ${node.id}`} value={handle} onChange={(event) => setChosen(event.currentTarget.value)}>
        {handles.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
      <select
        aria-label={`Connect ${node.id} to`}
        value=""
        onChange={({ currentTarget: { value } }) => run((each) => commands.connect(each, node.id, handle, value))}
      >
        <option value="">connect to…</option>
        {targets.map(({ id, label }) => (
          <option key={id} value={id}>
            {label ?? id}
          </option>
        ))}
      </select>
    </li>
  );
}
