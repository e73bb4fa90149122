/** Whether a deployment can take runs of a workflow. */
import type { DeploymentId, Scope } from '../engine/ids.ts';
import type { Deps } from './deps.ts';

export type NotReady =
  | { readonly kind: 'deployment_not_found'; readonly deploymentId: DeploymentId }
  /** it does not serve the workflow */
  | { readonly kind: 'workflow_not_found' }
  /** its artifact was never verified: nobody has asked, or there is none */
  | { readonly kind: 'deployment_not_verified'; readonly deploymentId: DeploymentId };

export async function readyDeployment(
  { deployments }: Pick<Deps, 'deployments'>,
  scope: Scope,
  id: DeploymentId,
  workflow: string,
): Promise<NotReady | { readonly kind: 'ready' }> {
  const deployment = await deployments.deployment(scope, id);
  if (deployment === undefined || deployment.removingSince !== undefined)
    return { kind: 'deployment_not_found', deploymentId: id };
  if (!deployment.manifest.workflows.some(({ name }) => name === workflow)) return { kind: 'workflow_not_found' };
  return deployment.verifiedAt === undefined ? { kind: 'deployment_not_verified', deploymentId: id } : { kind: 'ready' };
}
