/** The form of what is selected. Forms are loaded after the graph is shown. */
import { type ReactNode, Suspense, lazy, useEffect, useMemo, useRef } from 'react';
import { Loading } from '../primitives/loading.tsx';
import { selectedEdge, selectedNode } from './document.ts';
import { KnownNames, knownNamesFor } from './known-names.ts';
import { PinField } from './pin-field.tsx';
import type { NodeResults } from './test-run.ts';
import type { Editor } from './use-editor.ts';

const NodePanel = lazy(() => import('./node-panel.tsx').then(({ NodePanel: component }) => ({ default: component })));
const EdgePanel = lazy(() => import('./edge-panel.tsx').then(({ EdgePanel: component }) => ({ default: component })));

const OptionsPanel = lazy(() => import('./options-panel.tsx').then(({ OptionsPanel: component }) => ({ default: component })));

interface SelectionPanelProps {
  readonly editor: Editor;
  readonly results: NodeResults;
}

export function SelectionPanel({ editor, results }: SelectionPanelProps): ReactNode {
  const { document } = editor;
  const node = selectedNode(document);
  const edge = selectedEdge(document);
  const known = useMemo(
    () => (node === undefined ? [] : knownNamesFor(document.definition, node.id, document.pins, results)),
    [document, node, results],
  );
  const many = document.selection.nodes.length;
  const panel = useRef<HTMLElement>(null);
  const shown = node?.id ?? document.selection.edge;
  useEffect(() => {
    // Newer browsers return a promise here, which React would take for a cleanup.
    panel.current?.scrollTo({ top: 0 });
  }, [shown]);
  return (
    <aside
      ref={panel}
      className="editor-panel"
      aria-label={node === undefined ? (edge === undefined ? 'Options' : 'Edge') : `Node ${node.id}`}
    >
      <Suspense fallback={<Loading />}>
        {node !== undefined ? (
          <KnownNames value={known}>
            <NodePanel editor={editor} node={node}>
              <PinField key={`${node.id} pin`} editor={editor} node={node} results={results} />
            </NodePanel>
          </KnownNames>
        ) : null}
        {edge !== undefined ? <EdgePanel editor={editor} edge={edge} index={document.selection.edge ?? 0} /> : null}
        {many > 1 ? <p>{many} nodes are selected. Copy, move or remove them.</p> : null}
        {node === undefined && edge === undefined && many < 2 ? <OptionsPanel editor={editor} /> : null}
      </Suspense>
    </aside>
  );
}
