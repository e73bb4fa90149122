/** Signs in by an API key, which is sent once and kept nowhere. A link of the command line signs in without it. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { type Session, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';

export function SignIn({ onSignedIn }: { readonly onSignedIn: (session: Session) => void }): ReactNode {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const signIn = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const key = new FormData(form).get('key');
    if (typeof key !== 'string') return;
    setBusy(true);
    setError(undefined);
    api.signInByKey(key.trim()).then(onSignedIn, (failure: unknown) => {
      form.reset();
      setError(failure);
      setBusy(false);
    });
  };
  return (
    <form className="card" onSubmit={signIn}>
      <h1>Stepwell</h1>
      <p>
        Run <code>npx stepwell open</code> in your project. It opens this page signed in. Or sign in with an API key:
      </p>
      <label>
        API key
        <input name="key" type="password" autoComplete="off" required maxLength={256} />
      </label>
      {error === undefined ? null : <ErrorText error={error} />}
      <div className="actions">
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
      </div>
    </form>
  );
}
