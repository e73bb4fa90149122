/** What a person can do with a run: cancel it, or run it again. */
import { type ReactNode, useId, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { type Run, api } from '../api.ts';
import { defined } from '../../base/defined.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { go } from '../router.tsx';

export function Actions({ run }: { readonly run: Run }): ReactNode {
  const queries = useQueryClient();
  const [open, setOpen] = useState<'cancel' | 'rerun' | undefined>();
  const close = (): void => setOpen(undefined);
  const isOpen = run.completedAt === undefined;
  return (
    <span className="actions">
      <button type="button" onClick={() => setOpen('rerun')} disabled={run.isExternal === true}>
        Run again…
      </button>
      {isOpen ? (
        <button type="button" className="danger" onClick={() => setOpen('cancel')}>
          Cancel…
        </button>
      ) : null}
      <button type="button" onClick={() => void navigator.clipboard.writeText(run.runId)}>
        Copy id
      </button>
      {open === 'rerun' ? <RerunDialog run={run} onClose={close} /> : null}
      {open === 'cancel' ? (
        <Dialog
          title="Cancel this run?"
          action="Cancel the run"
          isDangerous
          onClose={close}
          onConfirm={async (form) => {
            await api.cancel(run.runId, String(form.get('reason') ?? ''));
            await queries.invalidateQueries({ queryKey: ['run', run.runId] });
          }}
        >
          <p>What it has done stays done. A cancelled run does not continue.</p>
          <label>
            Reason
            <input name="reason" maxLength={1_024} />
          </label>
        </Dialog>
      ) : null}
    </span>
  );
}

interface RerunDialogProps {
  readonly run: Run;
  /** continue from this node, with the earlier results */
  readonly fromNode?: string;
  readonly onClose: () => void;
}

export function RerunDialog({ run, fromNode, onClose }: RerunDialogProps): ReactNode {
  // One key for the dialog: a confirmation that is repeated after a lost response starts one run.
  const key = useId();
  const [nonce] = useState(() => crypto.randomUUID());
  const given = run.input === undefined ? '' : JSON.stringify(run.input, undefined, 2);
  return (
    <Dialog
      title={fromNode === undefined ? 'Run again' : `Run again from ${fromNode}`}
      action="Start"
      onClose={onClose}
      onConfirm={async (form) => {
        const text = String(form.get('input') ?? '');
        const version = Number(form.get('version'));
        const isSame = text === given;
        const { runId } = await api.rerun(
          run.runId,
          defined({
            fromNode,
            input: isSame || text.trim() === '' ? undefined : JSON.parse(text),
            version: version > 0 && version !== run.workflowVersion ? version : undefined,
          }),
          `${key}${nonce}`,
        );
        go(`/runs/${encodeURIComponent(runId)}`);
      }}
    >
      {fromNode === undefined ? null : <p>Nodes before it keep their results and do not run again.</p>}
      <label>
        Input, as JSON
        <textarea name="input" rows={8} defaultValue={given} spellCheck={false} />
      </label>
      {run.workflowVersion === null ? null : (
        <label>
          Version
          <input name="version" type="number" min={1} defaultValue={run.workflowVersion} />
        </label>
      )}
    </Dialog>
  );
}
