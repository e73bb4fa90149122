/** Whether a published workflow accepts runs, and which versions it has. */
import type { WorkflowSummary } from '../../ports/versions.ts';

export type ClosedReason = 'workflow_archived' | 'workflow_deleting';

/** Why the workflow accepts no runs now; undefined if it accepts runs. */
export const closedReason = ({ archivedAt, deletingSince }: WorkflowSummary): ClosedReason | undefined => {
  if (deletingSince !== undefined) return 'workflow_deleting';
  return archivedAt === undefined ? undefined : 'workflow_archived';
};

/** Lower version numbers belong to a deleted workflow of the same name and may still be stored for a while. */
export const hasVersion = ({ firstVersion = 1 }: Pick<WorkflowSummary, 'firstVersion'>, version: number): boolean =>
  version >= firstVersion;
