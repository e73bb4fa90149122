/** The bar above each page: the areas, the project, and who is signed in. */
import type { ReactNode } from 'react';
import { type Session, api } from '../api.ts';
import { Link, usePath } from '../router.tsx';
import { AreasMenu } from './areas-menu.tsx';
import { Keyboard } from './keyboard.tsx';
import { Logo } from './logo.tsx';
import { pages } from './pages.tsx';

export function Header({ session, onSignedOut }: { readonly session: Session; readonly onSignedOut: () => void }): ReactNode {
  const [area = 'runs'] = usePath();
  const menu = pages.filter(({ link }) => link === 'menu');
  const current = (is: boolean) => (is ? ({ 'aria-current': 'page' } as const) : {});
  return (
    <header>
      <a href="#page" className="skip">
        Skip to the page
      </a>
      <Link to="/runs" className="brand">
        <Logo /> Stepwell
      </Link>
      <nav aria-label="Areas">
        {pages
          .filter(({ link }) => link === 'bar')
          .map(({ path, title }) => (
            <Link key={path} to={`/${path}`} {...current(area === path)}>
              {title}
            </Link>
          ))}
        {menu.length === 0 ? null : <AreasMenu areas={menu} current={area} />}
      </nav>
      <span className="who">
        <Keyboard />
        <span className="chip" title="project and environment">
          {session.projectId}/{session.environment}
        </span>
        <span className="dim subject" title="You act with the rights of this key.">
          {session.subject}
        </span>
        <button type="button" className="quiet" onClick={() => void api.signOut().finally(onSignedOut)}>
          Sign out
        </button>
      </span>
    </header>
  );
}
