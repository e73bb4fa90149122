/** Reads one deployment, lists deployments newest first, or reads the active deployment. */
import type { DeploymentId, Scope } from '../../engine/ids.ts';
import { type Activation, type DeploymentPosition, activeDeploymentIn } from '../../ports/deployments.ts';
import type { Deps } from '../deps.ts';
import { type DeploymentView, deploymentViewOf } from './deployment-status.ts';

type Needs = Pick<Deps, 'deployments'>;

export async function getDeployment({ deployments }: Needs, scope: Scope, id: DeploymentId): Promise<DeploymentView | undefined> {
  const [deployment, pointer] = await Promise.all([deployments.deployment(scope, id), deployments.pointer(scope)]);
  return deployment && deploymentViewOf(deployment, activeDeploymentIn(pointer));
}

export async function listDeployments(
  { deployments }: Needs,
  scope: Scope,
  options: { readonly limit: number; readonly after?: DeploymentPosition },
): Promise<{ readonly deployments: readonly DeploymentView[]; readonly next?: DeploymentPosition }> {
  const [{ deployments: found, ...more }, pointer] = await Promise.all([
    deployments.list(scope, options),
    deployments.pointer(scope),
  ]);
  return { deployments: found.map((deployment) => deploymentViewOf(deployment, activeDeploymentIn(pointer))), ...more };
}

export interface ActiveDeployment extends Activation {
  readonly revision: number;
}

export async function activeDeployment({ deployments }: Needs, scope: Scope): Promise<ActiveDeployment | undefined> {
  const pointer = await deployments.pointer(scope);
  const [current] = pointer?.history ?? [];
  return pointer && current && { ...current, revision: pointer.revision };
}
