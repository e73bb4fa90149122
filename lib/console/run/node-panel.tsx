/** One node of a run: its output, each attempt with its error, and what it printed. */
import { type ReactNode, useState } from 'react';
import { type Run, type RunEvent, type RunNode, api } from '../api.ts';
import { Dialog } from '../primitives/dialog.tsx';
import { durationText } from '../primitives/duration.ts';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Status } from '../primitives/status.tsx';
import { RerunDialog } from './actions.tsx';

interface NodePanelProps {
  readonly run: Run;
  readonly nodeId: string;
  readonly iteration: string | undefined;
  readonly events: readonly RunEvent[];
  readonly onClose: () => void;
}

export function NodePanel({ run, nodeId, iteration, events, onClose }: NodePanelProps): ReactNode {
  const node = run.nodes.find((each) => each.nodeId === nodeId && each.iteration === iteration);
  const own = events.filter(({ payload }) => payload['nodeId'] === nodeId && payload['iteration'] === iteration);
  const printed = own.flatMap(({ type, payload }) => (type === 'node.log' && Array.isArray(payload['lines']) ? payload['lines'] : []));
  return (
    <aside aria-label={`Node ${nodeId}`} className="panel">
      <div className="head">
        <h2>
          <bdi>{node?.label ?? nodeId}</bdi>
        </h2>
        {node === undefined ? null : <Status status={node.status} />}
        <button type="button" onClick={onClose} aria-label="Close the node">
          ✕
        </button>
      </div>
      <p className="dim">
        <code>{nodeId}</code>
        {iteration === undefined ? '' : ` in ${iteration}`}
        {node === undefined ? '' : `, ${node.type}`}
        {node?.durationMs === undefined ? '' : `, took ${durationText(node.durationMs)}`}
      </p>
      <NodeActions run={run} nodeId={nodeId} node={node} />
      {node?.error === undefined ? null : (
        <div className="error">
          <p>
            <b>{node.error.code}</b>: <bdi>{node.error.message}</bdi>
          </p>
          <JsonTree value={node.error} />
        </div>
      )}
      <h3>Output</h3>
      {node?.outputOmitted === undefined ? null : <p>{node.outputOmitted.bytes} bytes: too large for a response of the API.</p>}
      {node?.output === undefined ? <p className="dim">None yet.</p> : <JsonTree value={node.output} />}
      <Attempts events={own} />
      {printed.length === 0 ? null : (
        <>
          <h3>Printed</h3>
          <pre className="printed">{printed.map(String).join('\n')}</pre>
        </>
      )}
    </aside>
  );
}

const outcomes: readonly string[] = ['node.completed', 'node.retried', 'node.failed', 'node.timed_out', 'node.blocked', 'node.invalidated'];

const Attempts = ({ events }: { readonly events: readonly RunEvent[] }): ReactNode => {
  const attempts = events.filter(({ type }) => outcomes.includes(type));
  if (attempts.length === 0) return null;
  return (
    <>
      <h3>Attempts</h3>
      <ol>
        {attempts.map(({ eventId, type, payload }) => (
          <li key={eventId}>
            <Status status={type === 'node.completed' ? 'completed' : 'failed'} /> {String(payload['startedAt'] ?? '')}
            {payload['failure'] === undefined ? null : <JsonTree name="failure" value={payload['failure']} />}
          </li>
        ))}
      </ol>
    </>
  );
};

function NodeActions({ run, nodeId, node }: { readonly run: Run; readonly nodeId: string; readonly node: RunNode | undefined }): ReactNode {
  const [open, setOpen] = useState<'rerun' | 'signal' | 'wake' | undefined>();
  const close = (): void => setOpen(undefined);
  const hasEnded = run.completedAt !== undefined;
  return (
    <div className="actions">
      {hasEnded && node?.iteration === undefined ? (
        <button type="button" onClick={() => setOpen('rerun')}>
          Run again from here…
        </button>
      ) : null}
      {node?.waitingFor === undefined ? null : (
        <button type="button" onClick={() => setOpen('signal')}>
          Send signal…
        </button>
      )}
      {node?.wakeAt === undefined || node.status !== 'waiting' ? null : (
        <button type="button" onClick={() => setOpen('wake')}>
          Wake…
        </button>
      )}
      {open === 'rerun' ? <RerunDialog run={run} fromNode={nodeId} onClose={close} /> : null}
      {open === 'wake' ? (
        <Dialog title={`Wake ${nodeId}?`} action="Wake" onClose={close} onConfirm={async () => void (await api.wake(run.runId, [nodeId]))}>
          <p>The node ends its sleep now, and the run continues.</p>
        </Dialog>
      ) : null}
      {open === 'signal' && node?.waitingFor !== undefined ? <SignalDialog waitingFor={node.waitingFor} onClose={close} /> : null}
    </div>
  );
}

interface SignalDialogProps {
  readonly waitingFor: NonNullable<RunNode['waitingFor']>;
  readonly onClose: () => void;
}

const SignalDialog = ({ waitingFor: { signal, correlation }, onClose }: SignalDialogProps): ReactNode => (
  <Dialog
    title={`Send ${signal}/${correlation}`}
    action="Send"
    onClose={onClose}
    onConfirm={async (form) => {
      const payload: unknown = JSON.parse(String(form.get('payload') ?? 'null'));
      await api.sendSignal({ name: signal, correlation, signalId: crypto.randomUUID(), payload: payload as never });
    }}
  >
    <label>
      Payload, as JSON
      <textarea name="payload" rows={6} defaultValue="{}" />
    </label>
  </Dialog>
);
