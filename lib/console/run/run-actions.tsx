/** What a person can do with a whole run: run it again, and resume or cancel it while it is open. */
import { type ReactNode, useState } from 'react';
import type { Run } from '../api.ts';
import { CancelDialog } from '../runs/cancel-dialog.tsx';
import { isOpenRun } from '../runs/open-run.ts';
import { RerunDialog } from './rerun-dialog.tsx';
import { ResumeDialog } from './resume-dialog.tsx';

export function RunActions({ run }: { readonly run: Run }): ReactNode {
  const [open, setOpen] = useState<'cancel' | 'rerun' | 'resume' | undefined>();
  const close = (): void => setOpen(undefined);
  if (run.isExternal === true)
    return (
      <span className="dim actions end">
        A program with the package openworkflow executes this run, cancels it and runs it again.
      </span>
    );
  return (
    <span className="actions end">
      <button type="button" onClick={() => setOpen('rerun')}>
        Run again…
      </button>
      {isOpenRun(run) ? (
        <>
          <button type="button" onClick={() => setOpen('resume')}>
            Resume…
          </button>
          <button type="button" className="danger" onClick={() => setOpen('cancel')}>
            Cancel…
          </button>
        </>
      ) : null}
      {open === 'rerun' ? <RerunDialog run={run} onClose={close} /> : null}
      {open === 'resume' ? <ResumeDialog runId={run.runId} onClose={close} /> : null}
      {open === 'cancel' ? <CancelDialog runIds={[run.runId]} onClose={close} /> : null}
    </span>
  );
}
