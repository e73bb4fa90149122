/** Signs in with the identity provider of the installation, or by an API key, which is sent once and kept nowhere. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { ApiError, type Session, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { formText } from '../primitives/form-text.ts';
import { consolePath } from '../router.tsx';
import { Logo } from './logo.tsx';
import { beginProviderSignIn } from './provider-sign-in.ts';

interface SignInProps {
  /** why the page is not signed in */
  readonly reason: unknown;
  readonly onSignedIn: (session: Session) => void;
}

export function SignIn({ reason, onSignedIn }: SignInProps): ReactNode {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const signIn = async (form: HTMLFormElement): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      onSignedIn(await api.signInByKey(formText(new FormData(form), 'key').trim()));
    } catch (failure) {
      form.reset();
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <form
      className="card sign-in"
      onSubmit={(event) => {
        event.preventDefault();
        void signIn(event.currentTarget);
      }}
    >
      <h1>
        <Logo /> Sign in to Stepwell
      </h1>
      {reason instanceof ApiError && reason.code === 'link_invalid' ? (
        <p className="notice wait">This link has been used, or is older than a minute. Make a new one.</p>
      ) : null}
      {reason instanceof ApiError && ['sign_in_refused', 'not_granted'].includes(reason.code) ? (
        <ErrorText error={reason} />
      ) : null}
      <WithProvider />
      <p>Run this in your project. It opens the console, signed in:</p>
      <pre>npx stepwell open</pre>
      <label>
        Or sign in with an API key
        <input name="key" type="password" autoComplete="off" required maxLength={256} placeholder="sw_…" />
      </label>
      {error === undefined ? null : <ErrorText error={error} />}
      <div className="actions">
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
      </div>
      <p className="dim small">The key is sent once and is not stored in this browser.</p>
    </form>
  );
}

/** Nothing, where the installation names no identity provider. */
function WithProvider(): ReactNode {
  const found = useQuery({
    queryKey: ['sign-in-provider'],
    queryFn: ({ signal }) => api.signInProvider(signal),
    staleTime: Infinity,
  });
  const provider = found.data?.provider ?? undefined;
  if (found.error !== null)
    return (
      <p className="notice wait">The identity provider cannot be reached. Try again later, or sign in with a link or a key.</p>
    );
  if (provider === undefined) return null;
  return (
    <button
      type="button"
      className="primary provider"
      onClick={() => void beginProviderSignIn(provider, 'sign-in', consolePath())}
    >
      Sign in with {new URL(provider.authorizationEndpoint).hostname}
    </button>
  );
}
