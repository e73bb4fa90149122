/** Names a new workflow and opens the editor. Nothing is stored before the first draft. */
import type { ReactNode } from 'react';
import { workflowNamePattern } from '../../engine/ids.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { formText } from '../primitives/form-text.ts';
import { go } from '../router.tsx';

export const NewWorkflow = ({ onClose }: { readonly onClose: () => void }): ReactNode => (
  <Dialog
    title="New workflow"
    action="Open the editor"
    onClose={onClose}
    onConfirm={(form) => {
      const name = formText(form, 'name').trim();
      if (!workflowNamePattern.test(name))
        return Promise.reject(
          new Error(
            'A name has letters, digits and the signs _ . - and begins with a letter or a digit. It has at most 128 characters.',
          ),
        );
      go(`/workflows/${encodeURIComponent(name)}/edit`);
      return Promise.resolve();
    }}
  >
    <label>
      Name
      <input name="name" required placeholder="order-fulfilment" spellCheck={false} autoComplete="off" />
    </label>
    <p className="dim">A workflow of that name opens in the editor, if it exists.</p>
  </Dialog>
);
