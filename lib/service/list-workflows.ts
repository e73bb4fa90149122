/** Workflows by name. */
import type { Scope, WorkflowName } from '../engine/ids.ts';
import type { WorkflowSummary } from '../ports/workflow-store.ts';
import type { Deps } from './deps.ts';

export interface WorkflowPage {
  readonly workflows: readonly WorkflowSummary[];
  readonly next?: WorkflowName;
}

export const listWorkflows = (
  { workflows }: Pick<Deps, 'workflows'>,
  scope: Scope,
  options: { readonly limit: number; readonly after?: WorkflowName; readonly archived: boolean },
): Promise<WorkflowPage> => workflows.list(scope, options);
