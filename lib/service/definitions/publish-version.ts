/**
 * Publishes a version under a name. A version is written once under its number and never changes; then the summary is updated. If the
 * publisher dies in between, the next publication under that name updates the summary.
 */
import { defined } from '../../base/defined.ts';
import type { Scope } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { DeletableNames, Numbered, Summary, VersionStore } from '../../ports/versions.ts';
import type { Deps } from '../deps.ts';

/** What to publish and where. A version contains the facts that its summary shows. */
interface Publication<Facts extends object, Version extends Numbered & Facts> extends Pick<Deps, 'clock'> {
  readonly store: VersionStore<Version, Facts>;
  readonly scope: Scope;
  readonly name: Version['name'];
  readonly numbered: (version: number) => Version;
}

export interface Published {
  readonly kind: 'published';
  readonly version: number;
  readonly createdAt: Instant;
  /** the name was archived; the publication unarchived it */
  readonly unarchived?: true;
}

/** Publishes version 1 of a name that was never used. */
export async function publishFirst<Facts extends object, Version extends Numbered & Facts>(
  publication: Publication<Facts, Version>,
): Promise<Published | { readonly kind: 'exists' }> {
  const { store, clock, scope, name, numbered } = publication;
  const createdAt = clock.now();
  const first = numbered(1);
  if ((await store.putVersion(scope, first, createdAt)) === 'stored') {
    await store.advance(scope, first, createdAt);
    return { kind: 'published', version: 1, createdAt };
  }
  if ((await store.summary(scope, name)) === undefined) {
    const stored = await store.version(scope, name, 1);
    if (stored !== undefined) await store.advance(scope, stored, createdAt);
  }
  return { kind: 'exists' };
}

/** Publishes the first version under a deleted name. Its number is above all numbers of the deleted workflow. */
export async function publishRecreated<Facts extends object, Version extends Numbered & Facts>(
  freedAfter: number,
  publication: Publication<Facts, Version> & { readonly store: DeletableNames<Version, Facts> },
): Promise<Published | { readonly kind: 'exists' }> {
  const { store, clock, scope, name, numbered } = publication;
  const createdAt = clock.now();
  let version = freedAfter + 1;
  for (let conflicts = 0; conflicts <= maxConflicts; conflicts += 1) {
    const isStored = (await store.putVersion(scope, numbered(version), createdAt)) === 'stored';
    if (isStored && (await store.reopen(scope, numbered(version), createdAt))) return { kind: 'published', version, createdAt };
    const last = await store.freedAfter(scope, name);
    if (last === undefined) return { kind: 'exists' };
    version = Math.max(version, last) + 1;
  }
  throw new Unavailable(`a free version number of ${name}`);
}

export interface NoSuchName {
  readonly kind: 'not_found';
}

/** Maximum number of version numbers that concurrent publishers may take before the request fails as `unavailable`. */
const maxConflicts = 20;

/** Publishes the next version of a name and unarchives it. A name that is archived during the publication stays archived. */
export async function publishNext<Facts extends object, Version extends Numbered & Facts>(
  { latestVersion, archivedAt }: Pick<Summary<Numbered>, 'latestVersion' | 'archivedAt'>,
  { store, clock, scope, name, numbered }: Publication<Facts, Version>,
): Promise<Published> {
  const createdAt = clock.now();
  const shouldUnarchive = archivedAt !== undefined;
  for (let version = latestVersion + 1; version <= latestVersion + maxConflicts; version += 1) {
    if ((await store.putVersion(scope, numbered(version), createdAt)) === 'occupied') continue;
    const isMoved = await store.advance(scope, numbered(version), createdAt, { shouldUnarchive });
    if (shouldUnarchive && !isMoved && (await isArchived(store, scope, name))) continue;
    return defined({ kind: 'published', version, createdAt, unarchived: shouldUnarchive ? true : undefined });
  }
  throw new Unavailable(`a free version number of ${name}`);
}

/** A concurrent publisher that read the name before it was archived may have taken a later number without unarchiving the name. */
async function isArchived<Version extends Numbered>(
  store: Pick<VersionStore<Version>, 'summary'>,
  scope: Scope,
  name: Version['name'],
): Promise<boolean> {
  const summary = await store.summary(scope, name);
  return summary?.archivedAt !== undefined && summary.deletingSince === undefined;
}
