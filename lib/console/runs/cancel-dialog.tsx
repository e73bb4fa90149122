/** Asks for a reason, then cancels runs. Runs that were cancelled before a failure stay cancelled. */
import type { ReactNode } from 'react';
import { api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { formText } from '../primitives/form-text.ts';
import { useBulk } from './bulk-progress.tsx';

interface CancelDialogProps {
  readonly runIds: readonly string[];
  readonly onCancelled?: () => void;
  readonly onClose: () => void;
}

export function CancelDialog({ runIds, onCancelled, onClose }: CancelDialogProps): ReactNode {
  const isOne = runIds.length === 1;
  const { run, left, progress } = useBulk(runIds, (runId, form) => api.cancel(runId, formText(form, 'reason')));
  return (
    <Dialog
      title={isOne ? 'Cancel this run?' : `Cancel ${runIds.length} runs?`}
      action={left === 1 ? 'Cancel the run' : `Cancel ${left} runs`}
      isDangerous
      onClose={onClose}
      onConfirm={async (form) => {
        await run(form);
        onCancelled?.();
      }}
    >
      <p>Nodes that completed keep their results. A cancelled run does not continue; it can run again as a new run.</p>
      <label>
        Reason
        <input name="reason" maxLength={1_024} placeholder="optional; it is kept in the log" />
      </label>
      {progress}
    </Dialog>
  );
}
