/** The parts of the editor below its bar. */
import { type ReactNode, Suspense, lazy } from 'react';
import { Loading } from '../primitives/loading.tsx';
import { Canvas } from './canvas.tsx';
import type { EditorMode } from './editor-bar.tsx';
import { FindingsList } from './findings-list.tsx';
import { Palette } from './palette.tsx';
import { SelectionPanel } from './selection-panel.tsx';
import type { Editor } from './use-editor.ts';
import type { TestRun } from './use-test-run.ts';

const JsonView = lazy(() => import('./json-view.tsx').then(({ JsonView: component }) => ({ default: component })));
const Outline = lazy(() => import('./outline.tsx').then(({ Outline: component }) => ({ default: component })));
const TestResults = lazy(() => import('./test-results.tsx').then(({ TestResults: component }) => ({ default: component })));

interface EditorBodyProps {
  readonly editor: Editor;
  readonly mode: EditorMode;
  readonly test: TestRun;
}

export const EditorBody = ({ editor, mode, test }: EditorBodyProps): ReactNode => (
  <>
    <div className="editor-body">
      <Palette editor={editor} />
      <div className="editor-main">
        {mode === 'Canvas' ? <Canvas editor={editor} results={test.results} /> : null}
        <Suspense fallback={<Loading />}>
          {mode === 'Outline' ? <Outline editor={editor} results={test.results} /> : null}
          {mode === 'JSON' ? <JsonView editor={editor} /> : null}
        </Suspense>
      </div>
      <SelectionPanel editor={editor} results={test.results} />
    </div>
    <footer className="editor-foot">
      <FindingsList editor={editor} />
      <Suspense fallback={null}>
        {test.run === undefined ? null : <TestResults editor={editor} run={test.run} onDelete={test.clear} />}
      </Suspense>
    </footer>
  </>
);
