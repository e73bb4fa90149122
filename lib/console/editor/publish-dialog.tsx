/** Publishes what one edits as the next version, with a note. */
import type { ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { ErrorText } from '../primitives/error-text.tsx';
import { Dialog } from '../primitives/dialog.tsx';
import { formText } from '../primitives/form-text.ts';
import { Loading } from '../primitives/loading.tsx';
import { definitionDiff } from '../workflows/definition-diff.ts';
import { DiffView } from '../workflows/diff-view.tsx';
import { definitionJson } from './read-definition.ts';
import { comparedOf } from './compared.ts';
import { loadVersion } from './stored.ts';
import type { Editor } from './use-editor.ts';

interface PublishDialogProps {
  readonly editor: Editor;
  readonly basedOn: number | null;
  readonly onPublish: (note: string) => Promise<void>;
  readonly onClose: () => void;
}

const maxNoteLength = 500;

export function PublishDialog({ editor, basedOn, onPublish, onClose }: PublishDialogProps): ReactNode {
  const { definition } = editor.document;
  const errors = editor.findings.filter(({ severity }) => severity === 'error').length;
  const base = useQuery({
    queryKey: ['base', definition.name, basedOn],
    queryFn: () => loadVersion(definition.name, basedOn),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Dialog
      title={basedOn === null ? `Publish ${definition.name}` : `Publish v${basedOn + 1} of ${definition.name}`}
      action="Publish"
      isWide
      onClose={onClose}
      onConfirm={(form) => onPublish(formText(form, 'note').trim())}
    >
      {errors === 0 ? null : <p className="bad">The definition has errors, so the server will refuse it.</p>}
      <label>
        Note
        <input name="note" maxLength={maxNoteLength} placeholder="What changes, and why" autoComplete="off" />
      </label>
      <h3>{basedOn === null ? 'The first version' : `Changes since v${basedOn}`}</h3>
      {base.error === null ? null : <ErrorText error={base.error} />}
      {base.data === undefined ? (
        base.error === null ? (
          <Loading />
        ) : null
      ) : (
        <DiffView differences={definitionDiff(base.data, comparedOf(definitionJson(definition)))} />
      )}
    </Dialog>
  );
}
