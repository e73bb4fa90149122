/** Whether a published workflow takes runs, and which versions it has. */
import type { WorkflowSummary } from '../../ports/versions.ts';

export type ClosedReason = 'workflow_archived' | 'workflow_deleting';

/** Why it takes no runs now; undefined where it does. */
export const closedReason = ({ archivedAt, deletingSince }: WorkflowSummary): ClosedReason | undefined => {
  if (deletingSince !== undefined) return 'workflow_deleting';
  return archivedAt === undefined ? undefined : 'workflow_archived';
};

/** Lower numbers may still be stored for a while: they belong to a workflow of that name that was deleted. */
export const hasVersion = ({ firstVersion = 1 }: Pick<WorkflowSummary, 'firstVersion'>, version: number): boolean =>
  version >= firstVersion;
