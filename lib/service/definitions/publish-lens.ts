/** Publishes lenses that the caller has validated. */
import type { Scope } from '../../engine/ids.ts';
import type { Lens } from '../../ports/lenses.ts';
import type { Deps } from '../deps.ts';
import { type NoSuchName, type Published, publishFirst, publishNext } from './publish-version.ts';

type Needs = Pick<Deps, 'lenses' | 'clock'>;

/** Version 1 of a new lens. */
export const createLens = (deps: Needs, scope: Scope, lens: Lens): Promise<Published | { readonly kind: 'exists' }> =>
  publishFirst(publication(deps, scope, lens));

/** The next version of a lens that exists. */
export async function publishLens(deps: Needs, scope: Scope, lens: Lens): Promise<Published | NoSuchName> {
  const summary = await deps.lenses.summary(scope, lens.name);
  return summary === undefined ? { kind: 'not_found' } : publishNext(summary, publication(deps, scope, lens));
}

const publication = ({ lenses, clock }: Needs, scope: Scope, lens: Lens) => ({
  store: lenses,
  clock,
  scope,
  name: lens.name,
  numbered: (version: number) => ({ ...lens, version }),
});
