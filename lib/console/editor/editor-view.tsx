/** The editor: a bar, the node types, the graph in one of its views, the form of what is selected, and the findings. */
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import type { WorkflowName } from '../../engine/ids.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Canvas } from './canvas.tsx';
import { documentOf } from './document.ts';
import { EditorBar, type EditorMode } from './editor-bar.tsx';
import { FindingsList } from './findings-list.tsx';
import { JsonView } from './json-view.tsx';
import { Outline } from './outline.tsx';
import { SelectionPanel } from './selection-panel.tsx';
import { Palette } from './palette.tsx';
import type { Stored } from './stored.ts';
import { noResults } from './test-run.ts';
import { useEditor } from './use-editor.ts';
import { useKeys } from './use-keys.ts';

interface EditorViewProps {
  readonly name: WorkflowName;
  readonly stored: Stored;
}

export function EditorView({ name, stored }: EditorViewProps): ReactNode {
  const editor = useEditor(documentOf(stored.definition));
  const [mode, setMode] = useState<EditorMode>('Canvas');
  const [refused, setRefused] = useState<unknown>();
  const current = useRef(editor);
  useEffect(() => {
    current.current = editor;
  });
  useKeys(current, useCallback(setRefused, []));
  return (
    <article className="editor" aria-labelledby="editor-title">
      <EditorBar name={name} editor={editor} mode={mode} onMode={setMode} />
      {refused === undefined ? null : <ErrorText error={refused} onRetry={() => setRefused(undefined)} />}
      <div className="editor-body">
        <Palette editor={editor} />
        <div className="editor-main">
          {mode === 'Canvas' ? <Canvas editor={editor} results={noResults} /> : null}
          {mode === 'Outline' ? <Outline editor={editor} results={noResults} /> : null}
          {mode === 'JSON' ? <JsonView editor={editor} /> : null}
        </div>
        <SelectionPanel editor={editor} />
      </div>
      <footer className="editor-foot">
        <FindingsList editor={editor} />
      </footer>
    </article>
  );
}
