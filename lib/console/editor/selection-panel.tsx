/** The form of what is selected. */
import type { ReactNode } from 'react';
import { selectedEdge, selectedNode } from './document.ts';
import { EdgePanel } from './edge-panel.tsx';
import { NodePanel } from './node-panel.tsx';
import { OptionsPanel } from './options-panel.tsx';
import type { Editor } from './use-editor.ts';

export function SelectionPanel({ editor }: { readonly editor: Editor }): ReactNode {
  const { document } = editor;
  const node = selectedNode(document);
  const edge = selectedEdge(document);
  const many = document.selection.nodes.length;
  return (
    <aside
      className="editor-panel"
      aria-label={node === undefined ? (edge === undefined ? 'Options' : 'Edge') : `Node ${node.id}`}
    >
      {node !== undefined ? <NodePanel editor={editor} node={node} /> : null}
      {edge !== undefined ? <EdgePanel editor={editor} edge={edge} index={document.selection.edge ?? 0} /> : null}
      {many > 1 ? <p>{many} nodes are selected. Copy, move or remove them.</p> : null}
      {node === undefined && edge === undefined && many < 2 ? <OptionsPanel editor={editor} /> : null}
    </aside>
  );
}
