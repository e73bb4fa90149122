/** Archives a workflow: it takes no new runs and no new versions. Once more changes nothing. */
import type { Scope, WorkflowName } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { Instant } from '../engine/time.ts';
import type { Deps } from './deps.ts';

export type ArchiveAnswer = { readonly kind: 'archived'; readonly archivedAt: Instant } | { readonly kind: 'workflow_not_found' };

export async function archiveWorkflow(
  { workflows, clock }: Pick<Deps, 'workflows' | 'clock'>,
  scope: Scope,
  name: WorkflowName,
): Promise<ArchiveAnswer> {
  if (!(await workflows.archive(scope, name, clock.now()))) return { kind: 'workflow_not_found' };
  const archivedAt = (await workflows.summary(scope, name))?.archivedAt;
  invariant(archivedAt !== undefined, `${name} was archived, and its summary does not say when`);
  return { kind: 'archived', archivedAt };
}
