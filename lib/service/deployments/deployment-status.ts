/** What a deployment is, as it is shown: the pointer says which one is active. */
import type { DeploymentId } from '../../engine/ids.ts';
import type { Deployment } from '../../ports/deployments.ts';

export type DeploymentStatus = 'created' | 'active' | 'inactive';

export interface DeploymentView extends Deployment {
  readonly status: DeploymentStatus;
}

export const deploymentViewOf = (deployment: Deployment, active: DeploymentId | undefined): DeploymentView => ({
  ...deployment,
  status: statusOf(deployment, active),
});

const statusOf = ({ manifest, activatedAt }: Deployment, active: DeploymentId | undefined): DeploymentStatus => {
  if (manifest.deploymentId === active) return 'active';
  return activatedAt === undefined ? 'created' : 'inactive';
};
