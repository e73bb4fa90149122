/** The bar of the editor: what is edited, undo and redo, the views of the graph, and what one can do with it. */
import type { ReactNode } from 'react';
import { Link } from '../router.tsx';
import * as commands from './commands.ts';
import type { Editor } from './use-editor.ts';

const editorModes = ['Canvas', 'Outline', 'JSON'] as const;
export type EditorMode = (typeof editorModes)[number];

interface EditorBarProps {
  readonly name: string;
  readonly editor: Editor;
  readonly mode: EditorMode;
  readonly onMode: (mode: EditorMode) => void;
  /** the state of the draft */
  readonly state?: ReactNode;
  readonly actions?: ReactNode;
}

export const EditorBar = ({ name, editor, mode, onMode, state, actions }: EditorBarProps): ReactNode => (
  <div className="editor-bar">
    <span className="editor-name">
      <nav aria-label="Path" className="crumbs">
        <Link to="/workflows">Workflows</Link> / <Link to={`/workflows/${encodeURIComponent(name)}`}>{name}</Link>
      </nav>
      <h1 id="editor-title">
        Edit <bdi>{name}</bdi>
      </h1>
    </span>
    {state}
    <span className="actions end">
      <button type="button" className="quiet" onClick={editor.undo} disabled={!editor.canUndo} title="Undo (Ctrl+Z)">
        Undo
      </button>
      <button type="button" className="quiet" onClick={editor.redo} disabled={!editor.canRedo} title="Redo (Ctrl+Shift+Z)">
        Redo
      </button>
      <button type="button" className="quiet" onClick={() => editor.run(commands.arrange)} title="Puts the nodes in layers">
        Arrange
      </button>
      <span className="segments" role="group" aria-label="View">
        {editorModes.map((each) => (
          <button key={each} type="button" aria-pressed={each === mode} onClick={() => onMode(each)}>
            {each}
          </button>
        ))}
      </span>
      {actions}
    </span>
  </div>
);
