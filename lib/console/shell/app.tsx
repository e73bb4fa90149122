/** The frame of all pages: who is signed in, where to go, and the page of the address. */
import { type ReactNode, Suspense, lazy, useEffect } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, type Session, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Link, usePath } from '../router.tsx';
import { RunList } from '../runs/run-list.tsx';
import { SignIn } from './sign-in.tsx';
import { takeLink } from './take-link.ts';

const RunView = lazy(() => import('../run/run-page.tsx').then(({ RunView: component }) => ({ default: component })));

/** A sign-in link works once, so it is taken from the address before anything else. */
const link = takeLink();

const readSession = async (signal: AbortSignal): Promise<Session> => {
  const used = link.take();
  return used === undefined ? api.session(signal) : api.signInByLink(used);
};

export function App(): ReactNode {
  const queries = useQueryClient();
  const session = useQuery({ queryKey: ['session'], queryFn: ({ signal }) => readSession(signal), staleTime: 60_000 });
  const isSignedOut = session.error instanceof ApiError && [401, 403, 410].includes(session.error.status);
  const signedIn = (fresh: Session): void => {
    queries.setQueryData(['session'], fresh);
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
  };
  if (session.data === undefined && session.isPending) return <main aria-busy="true" className="center">Loading…</main>;
  if (isSignedOut || session.data === undefined)
    return (
      <main className="center">
        {isSignedOut ? (
          <SignIn onSignedIn={signedIn} />
        ) : (
          <ErrorText error={session.error} onRetry={() => void session.refetch()} />
        )}
      </main>
    );
  return (
    <>
      <Header session={session.data} onSignedOut={() => void queries.resetQueries({ queryKey: ['session'] })} />
      <main id="page">
        <Suspense fallback={<p aria-busy="true">Loading…</p>}>
          <Page />
        </Suspense>
      </main>
    </>
  );
}

function Header({ session, onSignedOut }: { readonly session: Session; readonly onSignedOut: () => void }): ReactNode {
  const [area = 'runs'] = usePath();
  return (
    <header>
      <a href="#page" className="skip">
        Skip to the page
      </a>
      <strong>Stepwell</strong>
      <nav aria-label="Areas">
        <Link to="/runs" aria-current={area === 'runs' ? 'page' : undefined}>
          Runs
        </Link>
      </nav>
      <span className="who dim">
        {session.projectId}/{session.environment}, {session.subject}
      </span>
      <button type="button" onClick={() => void api.signOut().finally(onSignedOut)}>
        Sign out
      </button>
    </header>
  );
}

function Page(): ReactNode {
  const [area = 'runs', id] = usePath();
  useEffect(() => {
    document.title = `${id === undefined ? 'Runs' : id} · Stepwell`;
  }, [id]);
  if (area === 'runs') return id === undefined ? <RunList /> : <RunView key={id} runId={id} />;
  return (
    <section>
      <h1>There is no such page</h1>
      <p>
        <Link to="/runs">Go to the runs</Link>
      </p>
    </section>
  );
}
