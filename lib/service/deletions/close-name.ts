/** The first step of a deletion: the workflow takes no versions and no runs any more, and it is known which version was its last. */
import type { WorkflowDeletion } from '../../ports/deletions.ts';
import type { Deps } from '../deps.ts';

/**
 * @returns the deletion as it continues, under a later version where one was published since it was asked for; undefined where the
 * workflow does not exist any more
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
  // A workflow that was published under the name since it was deleted is another one.
  if (summary === undefined || (summary.firstVersion ?? 1) > throughVersion) {
    await deletions.remove(deletion);
    return undefined;
  }
  const laterDeletion: WorkflowDeletion = { ...deletion, throughVersion: summary.latestVersion, revision: 1 };
  const stored = (await deletions.begin(laterDeletion)) === 'stored' ? laterDeletion : await deletions.deletion(laterDeletion);
  await deletions.remove(deletion);
  return stored?.phase === 'closing' ? closeName(deps, stored) : stored;
}
