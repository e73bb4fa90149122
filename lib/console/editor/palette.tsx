/** The node types. A click adds a node behind the selected one, or into the selected edge; a drag puts it where one drops it. */
import type { ReactNode } from 'react';
import { TypeIcon } from '../graph/type-icon.tsx';
import { dragType } from './canvas.tsx';
import { handlesOf } from './catalogue.ts';
import * as commands from './commands.ts';
import { type EditorDocument, selectedNode } from './document.ts';
import { nodeTemplates } from './node-templates.ts';
import type { Editor } from './use-editor.ts';

/** The handle that a new node is connected to: the first one of the selected node that has no edge yet. */
function openHandle(document: EditorDocument): commands.Connection | undefined {
  const node = selectedNode(document);
  if (node === undefined) return undefined;
  const { edges } = document.definition;
  const handles = handlesOf(node, edges).filter((handle) => handle !== 'error');
  const used = edges.filter(({ source }) => source === node.id).map(({ sourceHandle = 'output' }) => sourceHandle);
  const handle = handles.find((each) => !used.includes(each)) ?? handles[0];
  return handle === undefined ? undefined : { source: node.id, handle };
}

function addType(document: EditorDocument, type: string): EditorDocument {
  const { edge } = document.selection;
  if (edge !== undefined && type !== 'start' && type !== 'end') return commands.insertIntoEdge(document, edge, type);
  return commands.addNode(document, type, type === 'start' ? undefined : openHandle(document));
}

const addHint = ({ selection, definition }: EditorDocument): string => {
  const edge = selection.edge === undefined ? undefined : definition.edges[selection.edge];
  if (edge !== undefined) return `between ${edge.source} and ${edge.target}`;
  const [id, other] = selection.nodes;
  return id === undefined || other !== undefined ? 'without an edge' : `behind ${id}`;
};

export const Palette = ({ editor: { document, run } }: { readonly editor: Editor }): ReactNode => (
  <section className="palette" aria-labelledby="palette-title">
    <h2 id="palette-title">Add a node</h2>
    <p className="dim small">{addHint(document)}</p>
    <ul>
      {nodeTemplates.map(({ type, title, summary }) => (
        <li key={type}>
          <button
            type="button"
            draggable
            title={summary}
            onDragStart={(event) => {
              event.dataTransfer.setData(dragType, type);
              event.dataTransfer.effectAllowed = 'copy';
            }}
            onClick={() => run((each) => addType(each, type))}
          >
            <TypeIcon type={type} />
            {title}
          </button>
        </li>
      ))}
    </ul>
  </section>
);
