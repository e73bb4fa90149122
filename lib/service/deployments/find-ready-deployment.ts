/** Whether a deployment can take runs of a workflow. */
import { defined } from '../../engine/defined.ts';
import type { DeploymentId, Scope } from '../../engine/ids.ts';
import type { Deployment } from '../../ports/deployments.ts';
import type { Deps } from '../deps.ts';

export type NotReady =
  | { readonly kind: 'deployment_not_found'; readonly deploymentId: DeploymentId }
  /** it does not serve the workflow */
  | { readonly kind: 'workflow_not_found' }
  /** its artifact was never verified: nobody has asked, or there is none */
  | { readonly kind: 'deployment_not_verified'; readonly deploymentId: DeploymentId };

/** The workflow as the deployment has it. */
export interface ServedWorkflow {
  readonly runtime: Deployment['manifest']['runtime'];
  readonly workflowName: string;
  /** of code, as its author named it */
  readonly codeVersion?: string;
}

export async function findReadyDeployment(
  { deployments }: Pick<Deps, 'deployments'>,
  scope: Scope,
  id: DeploymentId,
  workflow: string,
): Promise<NotReady | { readonly kind: 'ready'; readonly serves: ServedWorkflow }> {
  const deployment = await deployments.deployment(scope, id);
  if (deployment === undefined || deployment.removingSince !== undefined)
    return { kind: 'deployment_not_found', deploymentId: id };
  const { runtime, workflows } = deployment.manifest;
  // Of code there may be several versions: runs start with the one that is named last.
  const served = workflows.findLast(({ name }) => name === workflow);
  if (served === undefined) return { kind: 'workflow_not_found' };
  if (deployment.verifiedAt === undefined) return { kind: 'deployment_not_verified', deploymentId: id };
  const { version } = served;
  return {
    kind: 'ready',
    serves: defined({ runtime, workflowName: workflow, codeVersion: version }),
  };
}
