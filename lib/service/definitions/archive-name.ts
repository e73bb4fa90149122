/**
 * Archives a workflow, query or lens until its next version is published. An archived workflow accepts no new runs, and nodes that
 * use an archived query fail. Nodes continue to use an archived lens. Lists omit the name. Archiving it again changes nothing.
 */
import type { Scope } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import type { Numbered, VersionStore } from '../../ports/versions.ts';
import type { Deps } from '../deps.ts';

export type ArchiveResult = { readonly kind: 'archived'; readonly archivedAt: Instant } | { readonly kind: 'not_found' };

export async function archiveName<Version extends Numbered, Facts extends object>(
  { store, clock }: Pick<Deps, 'clock'> & { readonly store: VersionStore<Version, Facts> },
  scope: Scope,
  name: Version['name'],
): Promise<ArchiveResult> {
  const now = clock.now();
  if (!(await store.archive(scope, name, now))) return { kind: 'not_found' };
  const summary = await store.summary(scope, name);
  if (summary === undefined) return { kind: 'not_found' };
  // A concurrent publication may have unarchived the name.
  const archivedAt = summary.archivedAt ?? now;
  return { kind: 'archived', archivedAt };
}
