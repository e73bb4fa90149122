/** Sends one signal, and says which run received it, or that it is stored. */
import { type ReactNode, useState } from 'react';
import { defined } from '../../base/defined.ts';
import { type Sent, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { formJson, formText } from '../primitives/form-text.ts';
import { useSubmit } from '../primitives/use-submit.ts';
import { Link } from '../router.tsx';

interface SendFormProps {
  readonly name: string;
  readonly correlation: string;
  readonly onSent: () => void;
}

export function SendForm({ name, correlation, onSent }: SendFormProps): ReactNode {
  // One id until a signal is sent: one that is sent again after a lost response counts once.
  const [signalId, setSignalId] = useState(() => crypto.randomUUID());
  const [sent, setSent] = useState<Sent | undefined>();
  const { isBusy, error, onSubmit } = useSubmit(async (form) => {
    const hours = Number(formText(form, 'hours'));
    setSent(undefined);
    setSent(
      await api.sendSignal({
        name: formText(form, 'name').trim(),
        correlation: formText(form, 'correlation').trim(),
        payload: formJson(form, 'payload'),
        signalId,
        ...defined({ expiresInSeconds: hours > 0 ? Math.round(hours * 3_600) : undefined }),
      }),
    );
    setSignalId(crypto.randomUUID());
    onSent();
  });
  return (
    <form className="card send-signal" aria-label="Send a signal" onSubmit={onSubmit} onChange={() => setSent(undefined)}>
      <div className="field-pair">
        <TextField label="Name" name="name" value={name} placeholder="order-approved" />
        <TextField label="Correlation" name="correlation" value={correlation} placeholder="order-17" />
        <label>
          Stored for hours
          <input name="hours" type="number" min={0} max={720} step="any" placeholder="24, if no node waits for it yet" />
        </label>
      </div>
      <label>
        Payload, as JSON
        <textarea name="payload" rows={4} defaultValue="{}" spellCheck={false} />
      </label>
      <div className="actions">
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Sending…' : 'Send'}
        </button>
        <span role="status">{sent === undefined ? null : <Delivery sent={sent} />}</span>
      </div>
      {error === undefined ? null : <ErrorText error={error} />}
    </form>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly placeholder: string;
}

const TextField = ({ label, name, value, placeholder }: TextFieldProps): ReactNode => (
  <label>
    {label}
    <input name={name} required maxLength={256} defaultValue={value} placeholder={placeholder} spellCheck={false} />
  </label>
);

const Delivery = ({ sent: { delivered, workflowRunIds } }: { readonly sent: Sent }): ReactNode =>
  delivered ? (
    <>
      Delivered to{' '}
      {workflowRunIds.map((runId) => (
        <Link key={runId} to={`/runs/${encodeURIComponent(runId)}`}>
          …{runId.slice(-8)}
        </Link>
      ))}
      , which continues.
    </>
  ) : (
    <>Stored: no node waits for it yet. The first one that does receives it.</>
  );
