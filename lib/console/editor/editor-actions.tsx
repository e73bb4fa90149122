/** What one does with the edited definition: test it, publish it, and start a run of it. The dialogs are loaded when they are opened. */
import { type Dispatch, type ReactNode, type SetStateAction, Suspense, lazy, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import { Link } from '../router.tsx';
import { documentOf } from './document.ts';
import { publish } from './publish.ts';
import { definitionJson } from './read-definition.ts';
import { comparedOf } from './compared.ts';
import type { DraftSaving } from './use-draft.ts';
import type { Editor } from './use-editor.ts';
import type { TestRun } from './use-test-run.ts';

const TestDialog = lazy(() => import('./test-dialog.tsx').then(({ TestDialog: component }) => ({ default: component })));
const PublishDialog = lazy(() => import('./publish-dialog.tsx').then(({ PublishDialog: component }) => ({ default: component })));
const MergeDialog = lazy(() => import('./merge-dialog.tsx').then(({ MergeDialog: component }) => ({ default: component })));
const StartRun = lazy(() => import('../workflows/start-run.tsx').then(({ StartRun: component }) => ({ default: component })));

interface EditorActionsProps {
  readonly editor: Editor;
  readonly draft: DraftSaving;
  readonly test: TestRun;
}

type OpenedDialog =
  | { readonly kind: 'test' }
  | { readonly kind: 'publish' }
  | { readonly kind: 'merge'; readonly newest: number; readonly note: string }
  | { readonly kind: 'start'; readonly version: number };

export function EditorActions({ editor, draft, test }: EditorActionsProps): ReactNode {
  const { definition } = editor.document;
  const [opened, setOpened] = useState<OpenedDialog | undefined>();
  const [published, setPublished] = useState<number | undefined>();
  return (
    <>
      <button type="button" onClick={() => setOpened({ kind: 'test' })} disabled={definition.nodes.length === 0}>
        Test…
      </button>
      <button
        type="button"
        className="primary"
        onClick={() => setOpened({ kind: 'publish' })}
        disabled={definition.nodes.length === 0}
      >
        Publish…
      </button>
      {published === undefined ? null : (
        <span className="small" role="status">
          <Link to={`/workflows/${encodeURIComponent(definition.name)}`}>v{published} is published</Link>{' '}
          <button type="button" className="more" onClick={() => setOpened({ kind: 'start', version: published })}>
            Start a run…
          </button>
        </span>
      )}
      <Suspense fallback={null}>
        {opened === undefined ? null : (
          <Opened editor={editor} draft={draft} test={test} opened={opened} onOpen={setOpened} onPublished={setPublished} />
        )}
      </Suspense>
    </>
  );
}

interface OpenedProps extends EditorActionsProps {
  readonly opened: OpenedDialog;
  readonly onOpen: Dispatch<SetStateAction<OpenedDialog | undefined>>;
  readonly onPublished: (version: number) => void;
}

function Opened({ editor, draft, test, opened, onOpen, onPublished }: OpenedProps): ReactNode {
  const { definition } = editor.document;
  const publishOver = usePublish(editor, draft, onPublished, onOpen);
  // Publishing can open another dialog in the place of its own.
  const close = (): void => onOpen((now) => (now === opened ? undefined : now));
  switch (opened.kind) {
    case 'test':
      return <TestDialog editor={editor} onStart={(value) => test.start(editor.document, value)} onClose={close} />;
    case 'publish':
      return (
        <PublishDialog
          editor={editor}
          basedOn={draft.basedOn}
          onPublish={(note) => publishOver(definition, draft.basedOn, note)}
          onClose={close}
        />
      );
    case 'merge':
      return (
        <MergeDialog
          key={opened.newest}
          mine={definition}
          basedOn={draft.basedOn}
          newest={opened.newest}
          onMerge={(merged) => publishOver(merged, opened.newest, opened.note)}
          onClose={close}
        />
      );
    case 'start': {
      const { name } = definition;
      const { options } = comparedOf(definitionJson(definition));
      const { version } = opened;
      return <StartRun workflow={{ name, version, latestVersion: version, options }} onClose={close} />;
    }
  }
}

/** Publishes, and opens the merge when another version is newer. */
function usePublish(
  editor: Editor,
  draft: DraftSaving,
  onPublished: (version: number) => void,
  onOpen: (opened: OpenedDialog) => void,
): (definition: WorkflowDefinition, basedOn: number | null, note: string) => Promise<void> {
  const queries = useQueryClient();
  return async (definition, basedOn, note) => {
    const result = await publish(definition, { basedOn, note, draftRevision: draft.revision });
    if ('newest' in result) {
      onOpen({ kind: 'merge', newest: result.newest, note });
      return;
    }
    const { pins } = editor.document;
    if (definition !== editor.document.definition) editor.open(documentOf(definition, pins));
    draft.rebase({ definition, pins, basedOn: result.version, revision: 0, savedAt: undefined });
    onPublished(result.version);
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['workflow', definition.name] }),
      queries.invalidateQueries({ queryKey: ['workflows'] }),
    ]);
  };
}
