/** Resumes an open run: its sleeping nodes wake, and its code gets the reason and the payload. */
import { type ReactNode, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { defined } from '../../base/defined.ts';
import { api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { formText, jsonOf } from '../primitives/form-text.ts';

interface ResumeDialogProps {
  readonly runId: string;
  readonly onClose: () => void;
}

export function ResumeDialog({ runId, onClose }: ResumeDialogProps): ReactNode {
  const queries = useQueryClient();
  // One key for the dialog: a resume that is sent again after a lost response counts once.
  const [key] = useState(() => crypto.randomUUID());
  return (
    <Dialog
      title="Resume this run?"
      action="Resume it"
      onClose={onClose}
      onConfirm={async (form) => {
        const [reason, payload] = [formText(form, 'reason'), formText(form, 'payload').trim()];
        const given = defined({
          reason: reason === '' ? undefined : reason,
          payload: payload === '' ? undefined : jsonOf(payload),
        });
        await api.resume({ runId, ...given }, key);
        await queries.invalidateQueries({ queryKey: ['run', runId] });
      }}
    >
      <p>
        All nodes that sleep continue now. Code that waits to be resumed gets the reason and the payload, which the log keeps.
      </p>
      <label>
        Reason
        <input name="reason" maxLength={1_024} placeholder="optional" />
      </label>
      <label>
        Payload, as JSON
        <textarea name="payload" rows={4} spellCheck={false} placeholder="optional" />
      </label>
    </Dialog>
  );
}
