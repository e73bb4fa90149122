/** Asks before a link replaces the session of this browser. */
import { type ReactNode, useState } from 'react';
import { type Session, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import type { PendingLink } from './take-link.ts';

interface ReplaceSessionProps {
  readonly session: Session;
  readonly link: PendingLink;
  /** undefined: the session stays */
  readonly onDone: (session: Session | undefined) => void;
}

export function ReplaceSession({ session, link, onDone }: ReplaceSessionProps): ReactNode {
  const [error, setError] = useState<unknown>();
  const replace = async (): Promise<void> => {
    try {
      onDone(await api.signInByLink(link.take() ?? ''));
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section className="card sign-in" aria-labelledby="replace-title">
      <h1 id="replace-title">You are signed in already</h1>
      <p>
        This browser works in <b>{session.projectId}</b>/{session.environment} as <code>{session.subject}</code>. The link that
        you opened signs in again, perhaps to another project. Use it only if you made it.
      </p>
      {error === undefined ? null : <ErrorText error={error} />}
      <div className="actions">
        <button type="button" onClick={() => void replace()} disabled={error !== undefined}>
          Use the link
        </button>
        <button
          type="button"
          className="primary"
          onClick={() => {
            link.take();
            onDone(undefined);
          }}
        >
          Stay signed in
        </button>
      </div>
    </section>
  );
}
