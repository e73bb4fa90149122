/**
 * Archives what is published under a name, until its next version is published. Meanwhile a workflow takes no new runs, a query
 * fails the nodes that ask it, and lists leave the name out; nodes continue to use an archived lens. Archiving it again changes nothing.
 */
import type { Scope } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { Instant } from '../engine/time.ts';
import type { Numbered, VersionStore } from '../ports/versions.ts';
import type { Deps } from './deps.ts';

export type ArchiveAnswer = { readonly kind: 'archived'; readonly archivedAt: Instant } | { readonly kind: 'not_found' };

export async function archiveName<Version extends Numbered, Facts extends object>(
  { store, clock }: Pick<Deps, 'clock'> & { readonly store: VersionStore<Version, Facts> },
  scope: Scope,
  name: Version['name'],
): Promise<ArchiveAnswer> {
  if (!(await store.archive(scope, name, clock.now()))) return { kind: 'not_found' };
  const archivedAt = (await store.summary(scope, name))?.archivedAt;
  invariant(archivedAt !== undefined, `${name} was archived, and its summary does not say when`);
  return { kind: 'archived', archivedAt };
}
