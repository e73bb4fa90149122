import type { RunSummary } from '../../client/index.ts';

/** Which workflow a run is of, and which version or deployment of it. */
export const formatRunWorkflow = (
  run: Pick<RunSummary, 'workflowName' | 'workflowVersion' | 'deploymentId' | 'isTest'>,
): string => {
  if (run.isTest === true)
    return `${run.workflowName} (${run.workflowVersion === null ? 'test' : `@${run.workflowVersion}, of a test`})`;
  return run.deploymentId === null ? `${run.workflowName}@${run.workflowVersion}` : `${run.workflowName} on ${run.deploymentId}`;
};
