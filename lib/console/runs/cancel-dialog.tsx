/** Asks for a reason, then cancels runs, one after the other. Runs that were cancelled before a failure stay cancelled. */
import type { ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { formText } from '../primitives/form-text.ts';

interface CancelDialogProps {
  readonly runIds: readonly string[];
  readonly onCancelled?: () => void;
  readonly onClose: () => void;
}

export function CancelDialog({ runIds, onCancelled, onClose }: CancelDialogProps): ReactNode {
  const queries = useQueryClient();
  const isOne = runIds.length === 1;
  return (
    <Dialog
      title={isOne ? 'Cancel this run?' : `Cancel ${runIds.length} runs?`}
      action={isOne ? 'Cancel the run' : `Cancel ${runIds.length} runs`}
      isDangerous
      onClose={onClose}
      onConfirm={async (form) => {
        for (const runId of runIds) await api.cancel(runId, formText(form, 'reason'));
        onCancelled?.();
        await queries.invalidateQueries({ predicate: ({ queryKey: [name] }) => name === 'run' || name === 'runs' });
      }}
    >
      <p>Nodes that completed keep their results. A cancelled run does not continue; it can run again as a new run.</p>
      <label>
        Reason
        <input name="reason" maxLength={1_024} placeholder="optional; it is kept in the log" />
      </label>
    </Dialog>
  );
}
