/** Signs in by an API key, which is sent once and kept nowhere. A link of the command line signs in without it. */
import { type ReactNode, useState } from 'react';
import { ApiError, type Session, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { formText } from '../primitives/form-text.ts';
import { Logo } from './logo.tsx';

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
