/** The editor: a bar, the node types, the graph in one of its views, the form of what is selected, the findings and the last test. */
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import type { WorkflowName } from '../../engine/ids.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { CopyOffer } from './copy-offer.tsx';
import { documentOf } from './document.ts';
import { DraftStateView } from './draft-state.tsx';
import { EditorActions } from './editor-actions.tsx';
import { EditorBar, type EditorMode } from './editor-bar.tsx';
import { EditorBody } from './editor-body.tsx';
import { readCopy } from './local-copy.ts';
import { type Stored, loadStored } from './stored.ts';
import { useDraft } from './use-draft.ts';
import { useEditor } from './use-editor.ts';
import { useKeys } from './use-keys.ts';
import { useTestRun } from './use-test-run.ts';

interface EditorViewProps {
  readonly name: WorkflowName;
  readonly stored: Stored;
  /** of the copy in this browser */
  readonly copyKey: string;
}

export function EditorView({ name, stored, copyKey }: EditorViewProps): ReactNode {
  // Read before the first change writes it.
  const [copy] = useState(() => readCopy(copyKey, name));
  const editor = useEditor(documentOf(stored.definition, stored.pins));
  const draft = useDraft(editor.document, stored, copyKey);
  const test = useTestRun();
  const [mode, setMode] = useState<EditorMode>('Canvas');
  const [refused, setRefused] = useState<unknown>();
  const current = useRef(editor);
  useEffect(() => {
    current.current = editor;
  });
  useKeys(current, useCallback(setRefused, []));
  const takeSaved = async (): Promise<void> => {
    const saved = await loadStored(name, new AbortController().signal);
    editor.open(documentOf(saved.definition, saved.pins));
    draft.rebase(saved);
  };
  return (
    <article className="editor" aria-labelledby="editor-title">
      <EditorBar
        name={name}
        editor={editor}
        mode={mode}
        onMode={setMode}
        state={<DraftStateView draft={draft} onTake={takeSaved} />}
        actions={<EditorActions editor={editor} draft={draft} test={test} />}
      />
      <CopyOffer copy={copy} copyKey={copyKey} stored={stored} editor={editor} />
      {refused === undefined ? null : <ErrorText error={refused} onRetry={() => setRefused(undefined)} />}
      <EditorBody editor={editor} mode={mode} test={test} />
    </article>
  );
}
