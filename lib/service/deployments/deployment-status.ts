/** Adds a deployment's status; the pointer names the active deployments. */
import type { DeploymentId } from '../../engine/ids.ts';
import type { Deployment } from '../../ports/deployments.ts';

export type DeploymentStatus = 'created' | 'active' | 'inactive';

export interface DeploymentView extends Deployment {
  readonly status: DeploymentStatus;
}

export const deploymentViewOf = (deployment: Deployment, active: ReadonlySet<DeploymentId>): DeploymentView => ({
  ...deployment,
  status: statusOf(deployment, active),
});

const statusOf = ({ manifest, activatedAt }: Deployment, active: ReadonlySet<DeploymentId>): DeploymentStatus => {
  if (active.has(manifest.deploymentId)) return 'active';
  return activatedAt === undefined ? 'created' : 'inactive';
};
