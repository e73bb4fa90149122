/** Starts each of several runs again, with its own input and version. */
import { type ReactNode, useState } from 'react';
import { api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { useBulk } from './bulk-progress.tsx';

interface BulkRerunDialogProps {
  readonly runIds: readonly string[];
  readonly onStarted: () => void;
  readonly onClose: () => void;
}

export function BulkRerunDialog({ runIds, onStarted, onClose }: BulkRerunDialogProps): ReactNode {
  // One key for the dialog: a confirmation that is repeated after a lost response starts each run once.
  const [key] = useState(() => crypto.randomUUID());
  const { run, left, progress } = useBulk(runIds, (runId) => api.rerun(runId, {}, `${key}-${runId}`));
  const many = runIds.length === 1 ? 'this run' : `${runIds.length} runs`;
  return (
    <Dialog
      title={`Run ${many} again?`}
      action={left === 1 ? 'Start the run again' : `Start ${left} runs again`}
      onClose={onClose}
      onConfirm={async (form) => {
        await run(form);
        onStarted();
      }}
    >
      <p>
        For each one a new run starts from the beginning, with the same input and version. The selected runs stay as they are.
      </p>
      {progress}
    </Dialog>
  );
}
