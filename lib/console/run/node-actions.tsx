/** What a person can do with a node: send the signal for which it waits, wake it, retry it now, or run again from it. */
import { type ReactNode, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { hiddenText } from '../../base/hidden-text.ts';
import { type Run, type RunNode, api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { formJson, formText } from '../primitives/form-text.ts';
import { isOpenRun } from '../runs/open-run.ts';
import { isInBackoff } from '../runs/why.ts';
import { canRerunFrom } from './replaced-outputs.tsx';
import { RerunDialog } from './rerun-dialog.tsx';

interface NodeActionsProps {
  readonly run: Run;
  readonly nodeId: string;
  /** undefined: the run has not reached it */
  readonly node: RunNode | undefined;
}

export function NodeActions({ run, nodeId, node }: NodeActionsProps): ReactNode {
  const queries = useQueryClient();
  const [open, setOpen] = useState<'rerun' | 'retry' | 'signal' | 'wake' | undefined>();
  const close = (): void => setOpen(undefined);
  const read = (): Promise<void> => queries.invalidateQueries({ queryKey: ['run', run.runId] });
  const { waitingFor } = node ?? {};
  const canWake = node?.wakeAt !== undefined && node.status === 'waiting' && waitingFor === undefined;
  const canRerun = !isOpenRun(run) && node !== undefined && canRerunFrom(run, node);
  const canRetry = node !== undefined && isInBackoff(node);
  if (run.isExternal === true || (waitingFor === undefined && !canWake && !canRetry && !canRerun)) return null;
  return (
    <span className="actions">
      {waitingFor === undefined ? null : (
        <button type="button" className="primary" onClick={() => setOpen('signal')}>
          Send signal…
        </button>
      )}
      {canWake ? (
        <button type="button" onClick={() => setOpen('wake')}>
          Wake now…
        </button>
      ) : null}
      {canRetry ? (
        <button type="button" onClick={() => setOpen('retry')}>
          Retry now…
        </button>
      ) : null}
      {canRerun ? (
        <button type="button" onClick={() => setOpen('rerun')}>
          Run again from here…
        </button>
      ) : null}
      {open === 'rerun' ? <RerunDialog run={run} fromNode={nodeId} onClose={close} /> : null}
      {open === 'wake' || open === 'retry' ? (
        <WakeDialog runId={run.runId} nodeId={nodeId} isRetry={open === 'retry'} onWoken={read} onClose={close} />
      ) : null}
      {open === 'signal' && waitingFor !== undefined ? (
        <SignalDialog waitingFor={waitingFor} onSent={read} onClose={close} />
      ) : null}
    </span>
  );
}

interface WakeDialogProps {
  readonly runId: string;
  readonly nodeId: string;
  /** the node waits for its next attempt, and does not sleep */
  readonly isRetry: boolean;
  readonly onWoken: () => Promise<void>;
  readonly onClose: () => void;
}

function WakeDialog({ runId, nodeId, isRetry, onWoken, onClose }: WakeDialogProps): ReactNode {
  return (
    <Dialog
      title={isRetry ? `Retry ${nodeId} now?` : `Wake ${nodeId}?`}
      action={isRetry ? 'Retry it' : 'Wake it'}
      onClose={onClose}
      onConfirm={async () => {
        await (isRetry ? api.retryNow(runId, [nodeId]) : api.wake(runId, [nodeId]));
        await onWoken();
      }}
    >
      <p>
        {isRetry
          ? 'The next attempt begins now instead of at the end of its backoff. It counts as one of the attempts of the node.'
          : 'The node ends its sleep now, and the run continues.'}
      </p>
    </Dialog>
  );
}

interface SignalDialogProps {
  readonly waitingFor: NonNullable<RunNode['waitingFor']>;
  readonly onSent: () => Promise<void>;
  readonly onClose: () => void;
}

function SignalDialog({ waitingFor: { signal, correlation }, onSent, onClose }: SignalDialogProps): ReactNode {
  // One id for the dialog: a signal that is sent again after a lost response counts once.
  const isHidden = correlation === hiddenText;
  const [signalId] = useState(() => crypto.randomUUID());
  return (
    <Dialog
      title={`Send the signal ${signal}`}
      action="Send"
      onClose={onClose}
      onConfirm={async (form) => {
        await api.sendSignal({
          name: signal,
          correlation: isHidden ? formText(form, 'correlation') : correlation,
          signalId,
          payload: formJson(form, 'payload'),
        });
        await onSent();
      }}
    >
      {isHidden ? (
        <label>
          Correlation, which is hidden: your session lacks payloads:read
          <input name="correlation" required spellCheck={false} />
        </label>
      ) : (
        <p>
          It continues the run that waits for the correlation <code>{correlation}</code>.
        </p>
      )}
      <label>
        Payload, as JSON
        <textarea name="payload" rows={6} defaultValue="{}" spellCheck={false} />
      </label>
    </Dialog>
  );
}
