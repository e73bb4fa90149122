/** First phase of a deletion: closes the workflow's name for new versions and runs, and fixes its last version. */
import type { WorkflowDeletion } from '../../ports/deletions.ts';
import type { Deps } from '../deps.ts';

/**
 * @returns the deletion to continue; its `throughVersion` is higher if a version was published after the request. Undefined if the
 * workflow no longer exists.
 */
export async function closeName(
  deps: Pick<Deps, 'workflows' | 'deletions'>,
  deletion: WorkflowDeletion,
): Promise<WorkflowDeletion | undefined> {
  const { workflows, deletions } = deps;
  const { name, throughVersion, requestedAt } = deletion;
  if (await workflows.close(deletion, { name, version: throughVersion }, requestedAt)) {
    const closed: WorkflowDeletion = { ...deletion, phase: 'finding', revision: deletion.revision + 1 };
    return (await deletions.replace(closed)) ? closed : deletions.deletion(deletion);
  }
  const summary = await workflows.summary(deletion, name);
  // The name belongs to a new workflow if its first version is above `throughVersion`.
  if (summary === undefined || (summary.firstVersion ?? 1) > throughVersion) {
    await deletions.remove(deletion);
    return undefined;
  }
  const laterDeletion: WorkflowDeletion = { ...deletion, throughVersion: summary.latestVersion, revision: 1 };
  const stored = (await deletions.begin(laterDeletion)) === 'stored' ? laterDeletion : await deletions.deletion(laterDeletion);
  await deletions.remove(deletion);
  return stored?.phase === 'closing' ? closeName(deps, stored) : stored;
}
