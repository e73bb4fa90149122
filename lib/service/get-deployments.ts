/** Deployments as they stand: one, all of them newest first, and the one that new runs get. */
import type { DeploymentId, Scope } from '../engine/ids.ts';
import { type Activation, type DeploymentPosition, activeIn } from '../ports/deployments.ts';
import type { Deps } from './deps.ts';
import { type ShownDeployment, shown } from './deployment-status.ts';

type Needs = Pick<Deps, 'deployments'>;

export async function getDeployment(
  { deployments }: Needs,
  scope: Scope,
  id: DeploymentId,
): Promise<ShownDeployment | undefined> {
  const [deployment, pointer] = await Promise.all([deployments.deployment(scope, id), deployments.pointer(scope)]);
  return deployment && shown(deployment, activeIn(pointer));
}

export async function listDeployments(
  { deployments }: Needs,
  scope: Scope,
  options: { readonly limit: number; readonly after?: DeploymentPosition },
): Promise<{ readonly deployments: readonly ShownDeployment[]; readonly next?: DeploymentPosition }> {
  const [{ deployments: found, ...more }, pointer] = await Promise.all([
    deployments.list(scope, options),
    deployments.pointer(scope),
  ]);
  return { deployments: found.map((deployment) => shown(deployment, activeIn(pointer))), ...more };
}

export interface ActiveDeployment extends Activation {
  readonly revision: number;
}

export async function activeDeployment({ deployments }: Needs, scope: Scope): Promise<ActiveDeployment | undefined> {
  const pointer = await deployments.pointer(scope);
  const [standing] = pointer?.history ?? [];
  return pointer && standing && { ...standing, revision: pointer.revision };
}
