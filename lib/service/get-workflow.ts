/** One version of a workflow: the latest, or the one asked for. Archived ones can still be read. */
import type { WorkflowVersion } from '../engine/graph/definition.ts';
import type { Scope, WorkflowName } from '../engine/ids.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { WorkflowSummary } from '../ports/workflow-store.ts';
import type { Deps } from './deps.ts';

export type GetWorkflowAnswer =
  | { readonly kind: 'found'; readonly summary: WorkflowSummary; readonly version: WorkflowVersion }
  | { readonly kind: 'workflow_not_found' }
  | { readonly kind: 'version_not_found' };

export async function getWorkflow(
  { workflows }: Pick<Deps, 'workflows'>,
  scope: Scope,
  name: WorkflowName,
  number?: number,
): Promise<GetWorkflowAnswer> {
  const summary = await workflows.summary(scope, name);
  if (summary === undefined) return { kind: 'workflow_not_found' };
  const version = await workflows.version(scope, name, number ?? summary.latestVersion);
  if (version !== undefined) return { kind: 'found', summary, version };
  // A version is written before its summary names it, so a missing latest one is a read that came to nothing.
  if (number === undefined) throw new Unavailable(`version ${summary.latestVersion} of ${name}`);
  return { kind: 'version_not_found' };
}
