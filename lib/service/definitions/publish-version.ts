/**
 * Publishing under a name. A version is written once under its number and never changes; the summary follows it. A publisher that
 * dies in between leaves a version without its summary, and the next publication under that name completes it.
 */
import { defined } from '../../engine/defined.ts';
import type { Scope } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { DeletableNames, Numbered, Summary, VersionStore } from '../../ports/versions.ts';
import type { Deps } from '../deps.ts';

/** What is published where. A version knows by itself what its summary tells of it. */
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
  /** the name was archived, and takes runs and versions again */
  readonly unarchived?: true;
}

/** Version 1 of a name that was never used. */
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

/** The first version of a new name that another had before, which was deleted: above all the numbers of that one. */
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

/** How many others may publish under the same name at the same moment before the caller has to repeat the request. */
const maxConflicts = 20;

/** The next version of a name. An archived name opens with it; one that is archived during the publication stays archived. */
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

/** Another publisher has moved it to a later number, and had looked before it was archived: that number does not open it. */
async function isArchived<Version extends Numbered>(
  store: Pick<VersionStore<Version>, 'summary'>,
  scope: Scope,
  name: Version['name'],
): Promise<boolean> {
  const summary = await store.summary(scope, name);
  return summary?.archivedAt !== undefined && summary.deletingSince === undefined;
}
