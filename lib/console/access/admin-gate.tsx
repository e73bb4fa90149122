/** Pages for which a session needs `admin`. It has the right for a quarter of an hour after its person has shown it again. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { ApiError, api } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { formText } from '../primitives/form-text.ts';
import { consolePath } from '../router.tsx';
import { beginProviderSignIn, raiseFailure } from '../shell/provider-sign-in.ts';
import { useRaisedMs, useSession, useSetSession } from '../shell/use-session.ts';

interface AdminGateProps {
  /** what the page shows, for example `The API keys of the project` */
  readonly what: string;
  /** does the same with a key */
  readonly command: string;
  readonly children: ReactNode;
}

export function AdminGate({ what, command, children }: AdminGateProps): ReactNode {
  const isRaised = useRaisedMs() > 0;
  return isRaised ? (
    <>
      <RaisedNote />
      {children}
    </>
  ) : (
    <RaiseForm what={what} command={command} />
  );
}

function RaisedNote(): ReactNode {
  const leftMs = useRaisedMs();
  const setSession = useSetSession();
  const [error, setError] = useState<unknown>();
  return (
    <>
      <p className="raised">
        <span className="pill wait small">admin</span> for {durationText(leftMs)}
        <button type="button" className="quiet" onClick={() => void api.lowerSession().then(setSession, setError)}>
          Give it back
        </button>
      </p>
      {error === undefined ? null : <ErrorText error={error} />}
    </>
  );
}

/** The secret of a link: as it is, or in the address that the command line prints. */
const linkIn = (text: string): string | undefined => /(?:^|#link=)(sl_[A-Za-z0-9_-]{43})$/.exec(text)?.[1];

/** Nothing of the form stays in the page. */
function RaiseForm({ what, command }: Omit<AdminGateProps, 'children'>): ReactNode {
  const setSession = useSetSession();
  const [error, setError] = useState<unknown>(raiseFailure.error);
  const [isBusy, setBusy] = useState(false);
  const raise = async (form: HTMLFormElement): Promise<void> => {
    setBusy(true);
    setError(undefined);
    const text = formText(new FormData(form), 'key').trim();
    const link = linkIn(text);
    form.reset();
    try {
      setSession(await api.raiseSession(link === undefined ? { key: text } : { link }));
      raiseFailure.error = undefined;
    } catch (failure) {
      // The general text of this refusal is about the session.
      setError(
        failure instanceof ApiError && failure.code === 'missing_scope' ? new Error('That key does not have admin.') : failure,
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="card raise"
      aria-labelledby="raise-title"
      onSubmit={(event) => {
        event.preventDefault();
        void raise(event.currentTarget);
      }}
    >
      <h2 id="raise-title">This page needs the right admin</h2>
      <p>{what} can be seen for 15 minutes after you show a right to it. The audit trail has an entry of it.</p>
      <ProviderAgain />
      <label>
        An API key with admin, or a new link of <code>npx stepwell open</code>
        <input name="key" type="password" autoComplete="off" required maxLength={512} placeholder="sw_… or sl_…" />
      </label>
      {error === undefined ? null : <ErrorText error={error} />}
      <div className="actions">
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Checking…' : 'Get admin for 15 minutes'}
        </button>
      </div>
      <p className="dim small">
        The key is sent once and is not stored. Without the console: <code>{command}</code>
      </p>
    </form>
  );
}

/** A person of the identity provider signs in there again, and comes back to this page. */
function ProviderAgain(): ReactNode {
  const isOfProvider = useSession()?.subject.startsWith('oidc:') === true;
  const found = useQuery({
    queryKey: ['sign-in-provider'],
    queryFn: ({ signal }) => api.signInProvider(signal),
    staleTime: Infinity,
    enabled: isOfProvider,
  });
  const provider = found.data?.provider ?? undefined;
  if (!isOfProvider || provider === undefined) return null;
  return (
    <p>
      <button type="button" className="primary" onClick={() => void beginProviderSignIn(provider, 'raise', consolePath())}>
        Sign in again with {new URL(provider.authorizationEndpoint).hostname}
      </button>
    </p>
  );
}
