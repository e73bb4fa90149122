/**
 * Publishes a version under a name. A version is written once under its number and never changes; then the summary is updated. If the
 * publisher dies in between, the next publication under that name updates the summary.
 */
import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../base/defined.ts';
import type { Scope } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Authorship, DeletableNames, Numbered, Summary, VersionRecord, VersionStore } from '../../ports/versions.ts';
import type { Deps } from '../deps.ts';

/** What to publish and where. A version contains the facts that its summary shows. */
interface Publication<Facts extends object, Version extends Numbered & Facts> extends Pick<Deps, 'clock'> {
  readonly store: VersionStore<Version, Facts>;
  readonly scope: Scope;
  readonly name: Version['name'];
  readonly numbered: (version: number) => Version;
  readonly authorship?: Authorship;
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
  const { store, clock, scope, name, numbered, authorship } = publication;
  const createdAt = clock.now();
  const first = numbered(1);
  if ((await store.putVersion(scope, first, createdAt, authorship)) === 'stored') {
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
  const { store, clock, scope, name, numbered, authorship } = publication;
  const createdAt = clock.now();
  let version = freedAfter + 1;
  for (let conflicts = 0; conflicts <= maxConflicts; conflicts += 1) {
    const isStored = (await store.putVersion(scope, numbered(version), createdAt, authorship)) === 'stored';
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
  { store, clock, scope, name, numbered, authorship }: Publication<Facts, Version>,
): Promise<Published> {
  const createdAt = clock.now();
  const shouldUnarchive = archivedAt !== undefined;
  for (let version = latestVersion + 1; version <= latestVersion + maxConflicts; version += 1) {
    if ((await store.putVersion(scope, numbered(version), createdAt, authorship)) === 'occupied') continue;
    const isMoved = await store.advance(scope, numbered(version), createdAt, { shouldUnarchive });
    if (shouldUnarchive && !isMoved && (await isArchived(store, scope, name))) continue;
    return defined({ kind: 'published', version, createdAt, unarchived: shouldUnarchive ? true : undefined });
  }
  throw new Unavailable(`a free version number of ${name}`);
}

export interface VersionConflict {
  readonly kind: 'version_conflict';
  /** undefined: the name has no version */
  readonly newest: VersionRecord | undefined;
}

/**
 * Publishes the next version of a name only if `basedOn` is its newest version. Version numbers have no gaps, so the condition of the
 * put that the number is free decides between concurrent publishers.
 */
export async function publishAfter<Facts extends object, Version extends Numbered & Facts>(
  basedOn: number | null,
  summary: Summary<Numbered>,
  publication: Publication<Facts, Version>,
): Promise<Published | VersionConflict> {
  const { store, clock, scope, numbered, authorship } = publication;
  const createdAt = clock.now();
  const version = (basedOn ?? 0) + 1;
  const isBased = basedOn !== null && (await isNewest(store, scope, summary, basedOn));
  if (isBased && (await store.putVersion(scope, numbered(version), createdAt, authorship)) === 'stored') {
    const shouldUnarchive = summary.archivedAt !== undefined;
    const isMoved = await store.advance(scope, numbered(version), createdAt, { shouldUnarchive });
    return defined({ kind: 'published', version, createdAt, unarchived: shouldUnarchive && isMoved ? true : undefined });
  }
  return (await repeatedPublication(version, summary, publication)) ?? versionConflict(publication);
}

/**
 * The version that this request published before, if it is a repetition whose first answer was lost: it has the same number, definition,
 * author and note. Also completes a publication whose first request stopped between its two writes.
 */
export async function repeatedPublication<Facts extends object, Version extends Numbered & Facts>(
  version: number,
  { archivedAt }: Pick<Summary<Numbered>, 'archivedAt'>,
  { store, clock, scope, name, numbered, authorship }: Publication<Facts, Version>,
): Promise<Published | undefined> {
  if (authorship?.createdBy === undefined) return undefined;
  const stored = await store.version(scope, name, version);
  if (stored === undefined || !isSameJson(stored, numbered(version))) return undefined;
  const [record] = (await store.versions(scope, name, { limit: 1, before: version + 1 })).versions;
  if (record?.version !== version || record.createdBy !== authorship.createdBy || record.note !== authorship.note)
    return undefined;
  await store.advance(scope, stored, clock.now(), { shouldUnarchive: archivedAt !== undefined });
  return { kind: 'published', version, createdAt: record.createdAt };
}

/** Stored definitions have no fields that are undefined. */
const isSameJson = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));

/** The summary lacks a version whose publisher died between its two writes. */
async function isNewest<Version extends Numbered>(
  store: Pick<VersionStore<Version>, 'version'>,
  scope: Scope,
  { name, latestVersion }: Summary<Numbered>,
  version: number,
): Promise<boolean> {
  if (version <= latestVersion) return version === latestVersion;
  return (await store.version(scope, name, version)) !== undefined;
}

/** Also updates the summary if the publisher of the newest version died, so that its readers find that version. */
export async function versionConflict<Facts extends object, Version extends Numbered & Facts>({
  store,
  clock,
  scope,
  name,
}: Publication<Facts, Version>): Promise<VersionConflict> {
  const [newest] = (await store.versions(scope, name, { limit: 1 })).versions;
  const stored = newest === undefined ? undefined : await store.version(scope, name, newest.version);
  if (stored !== undefined) await store.advance(scope, stored, clock.now());
  return { kind: 'version_conflict', newest };
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
