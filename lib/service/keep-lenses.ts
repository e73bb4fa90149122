/**
 * Lenses: their versions are written once under their numbers and never change; the summary follows. Whoever dies in between
 * leaves a version without its summary, and the next to publish under that name completes it.
 */
import type { LensName, Scope } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { Instant } from '../engine/time.ts';
import type { Lens, LensSummary, LensVersion } from '../ports/lenses.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';

type Kept = { readonly kind: 'kept'; readonly version: number; readonly createdAt: Instant };
type NotFound = { readonly kind: 'lens_not_found' };
type Needs = Pick<Deps, 'lenses' | 'clock'>;

/** Version 1 of a new lens, which has been judged. */
export async function createLens(
  { lenses, clock }: Needs,
  scope: Scope,
  lens: Lens,
): Promise<Kept | { readonly kind: 'lens_exists' }> {
  const createdAt = clock.now();
  const put = await lenses.putVersion(scope, { ...lens, version: 1 }, createdAt);
  await lenses.advance(scope, lens.name, 1, createdAt);
  return put === 'occupied' ? { kind: 'lens_exists' } : { kind: 'kept', version: 1, createdAt };
}

/** How many others may publish the same lens at the same moment before the caller is asked to come again. */
const mostRivals = 20;

/** The next version of a lens that exists; the version has been judged. */
export async function publishLens(
  { lenses, clock }: Needs,
  scope: Scope,
  lens: Lens,
): Promise<Kept | NotFound | { readonly kind: 'lens_archived' }> {
  const summary = await lenses.summary(scope, lens.name);
  if (summary === undefined) return { kind: 'lens_not_found' };
  if (summary.archivedAt !== undefined) return { kind: 'lens_archived' };
  const createdAt = clock.now();
  for (let version = summary.latestVersion + 1; version <= summary.latestVersion + mostRivals; version += 1) {
    if ((await lenses.putVersion(scope, { ...lens, version }, createdAt)) === 'occupied') continue;
    await lenses.advance(scope, lens.name, version, createdAt);
    return { kind: 'kept', version, createdAt };
  }
  throw new Unavailable(`a free version number of ${lens.name}`);
}

export type GetLensAnswer =
  | { readonly kind: 'found'; readonly summary: LensSummary; readonly version: LensVersion }
  | NotFound
  | { readonly kind: 'version_not_found' };

/** The latest version, or the one asked for. Archived ones can still be read. */
export async function getLens(
  { lenses }: Pick<Deps, 'lenses'>,
  scope: Scope,
  name: LensName,
  number?: number,
): Promise<GetLensAnswer> {
  const summary = await lenses.summary(scope, name);
  if (summary === undefined) return { kind: 'lens_not_found' };
  const version = await lenses.version(scope, name, number ?? summary.latestVersion);
  if (version !== undefined) return { kind: 'found', summary, version };
  // A version is written before its summary names it, so a missing latest one is a read that came to nothing.
  if (number === undefined) throw new Unavailable(`version ${summary.latestVersion} of ${name}`);
  return { kind: 'version_not_found' };
}

/** It takes no new versions; nodes that use it go on. Once more changes nothing. */
export async function archiveLens(
  { lenses, clock }: Needs,
  scope: Scope,
  name: LensName,
): Promise<NotFound | { readonly kind: 'archived'; readonly archivedAt: Instant }> {
  if (!(await lenses.archive(scope, name, clock.now()))) return { kind: 'lens_not_found' };
  const archivedAt = (await lenses.summary(scope, name))?.archivedAt;
  invariant(archivedAt !== undefined, `${name} was archived, and its summary does not say when`);
  return { kind: 'archived', archivedAt };
}
