/** Publishing lenses, which have been judged. */
import type { Scope } from '../engine/ids.ts';
import type { Lens } from '../ports/lenses.ts';
import type { Deps } from './deps.ts';
import { type Closed, type Published, openName, publishFirst, publishNext } from './publish-version.ts';

type Needs = Pick<Deps, 'lenses' | 'clock'>;

/** Version 1 of a new lens. */
export const createLens = (deps: Needs, scope: Scope, lens: Lens): Promise<Published | { readonly kind: 'exists' }> =>
  publishFirst(publication(deps, scope, lens));

/** The next version of a lens that exists. */
export async function publishLens(deps: Needs, scope: Scope, lens: Lens): Promise<Published | Closed> {
  const open = await openName(deps.lenses, scope, lens.name);
  return open.kind === 'open' ? publishNext(open.summary, publication(deps, scope, lens)) : open;
}

const publication = ({ lenses, clock }: Needs, scope: Scope, lens: Lens) => ({
  store: lenses,
  clock,
  scope,
  name: lens.name,
  numbered: (version: number) => ({ ...lens, version }),
});
