/** The frame of all pages: who is signed in, where to go, and the page of the address. */
import { type ReactNode, Suspense, useEffect, useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, type Session, api, onSignedOut } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Link, usePath } from '../router.tsx';
import { Header } from './header.tsx';
import { pageAt } from './pages.tsx';
import { raiseFailure, takeProviderAnswer } from './provider-sign-in.ts';
import { ReplaceSession } from './replace-session.tsx';
import { SessionEnded } from './session-ended.tsx';
import { SignIn } from './sign-in.tsx';
import { takeLink } from './take-link.ts';

/** A sign-in link works once, so it is taken from the address before anything else. */
const link = takeLink();
/** The answer of the identity provider, too. It is used once. */
let providerAnswer = takeProviderAnswer();

const isSignedOut = (error: unknown): boolean => error instanceof ApiError && [401, 403].includes(error.status);

/**
 * A link signs in only a browser that has no session. Otherwise another person's link could replace the session unnoticed, and what
 * its reader does next would happen in the project of that person.
 */
async function readSession(signal: AbortSignal): Promise<Session> {
  const answered = providerAnswer;
  providerAnswer = undefined;
  // This tab began the sign-in, so its person wants the new session.
  if (answered?.kind === 'answered' && answered.purpose === 'sign-in') return api.signInWithProvider(answered.answer);
  if (answered?.kind === 'answered')
    return api.raiseSession({ provider: answered.answer }).catch((error: unknown) => {
      raiseFailure.error = error;
      return api.session(signal);
    });
  if (answered?.kind === 'failed') throw new ApiError(401, { code: 'sign_in_refused', message: answered.message });
  try {
    return await api.session(signal);
  } catch (error) {
    const secret = isSignedOut(error) ? link.take() : undefined;
    if (secret === undefined) throw error;
    return api.signInByLink(secret);
  }
}

export function App(): ReactNode {
  const queries = useQueryClient();
  const [isLinkPending, setLinkPending] = useState(() => link.isPending());
  const session = useQuery({
    queryKey: ['session'],
    queryFn: ({ signal }) => readSession(signal),
    staleTime: 60_000,
    retry: (failures, error) => failures < 3 && !isSignedOut(error),
  });
  useEffect(() => onSignedOut(() => void queries.invalidateQueries({ queryKey: ['session'] })), [queries]);
  const signedIn = (fresh: Session): void => {
    const before = session.data;
    queries.setQueryData(['session'], fresh);
    const isOther = ({ queryKey }: { readonly queryKey: readonly unknown[] }): boolean => queryKey[0] !== 'session';
    // What another project had may not stay; after a session that ended, the pages stay and read again.
    if (before?.projectId === fresh.projectId && before.environment === fresh.environment)
      void queries.invalidateQueries({ predicate: isOther });
    else queries.removeQueries({ predicate: isOther });
  };
  if (session.data === undefined && session.isPending) return <Centered>{<Loading />}</Centered>;
  if (session.data === undefined)
    return (
      <Centered>
        {isSignedOut(session.error) ? (
          <SignIn reason={session.error} onSignedIn={signedIn} />
        ) : (
          <ErrorText error={session.error} onRetry={() => void session.refetch()} />
        )}
      </Centered>
    );
  if (isLinkPending && link.isPending())
    return (
      <Centered>
        <ReplaceSession
          session={session.data}
          link={link}
          onDone={(fresh) => {
            setLinkPending(false);
            if (fresh !== undefined) signedIn(fresh);
          }}
        />
      </Centered>
    );
  return (
    <>
      <Header session={session.data} onSignedOut={() => void queries.resetQueries({ queryKey: ['session'] })} />
      {isSignedOut(session.error) ? <SessionEnded onSignedIn={signedIn} onRetry={() => void session.refetch()} /> : null}
      <main id="page" tabIndex={-1}>
        <Suspense fallback={<Loading />}>
          <Page />
        </Suspense>
      </main>
    </>
  );
}

const Centered = ({ children }: { readonly children: ReactNode }): ReactNode => <main className="center">{children}</main>;

function Page(): ReactNode {
  const found = pageAt(usePath());
  const title = found === undefined ? 'Console' : found.id === '' ? found.page.title : found.id;
  useEffect(() => {
    document.title = `${title} · Stepwell`;
  }, [title]);
  if (found !== undefined) return found.page.open(found.id);
  return (
    <section className="empty">
      <h1>There is no such page</h1>
      <p>
        <Link to="/runs">Go to the runs</Link>
      </p>
    </section>
  );
}
