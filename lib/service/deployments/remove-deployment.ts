/**
 * Removes a deployment and its artifact permanently, unless it is active or an open run pins it. First marks the deployment and
 * changes the pointer's revision: from then on no run starts on it and every concurrent activation fails. Only then are its pins
 * checked. After a crash in between, the deployment stays marked, and a repeated request continues.
 */
import type { DeploymentId, RunId, Scope } from '../../engine/ids.ts';
import { type Instant, hours } from '../../engine/time.ts';
import { activeDeploymentsIn, pointerWithout } from '../../ports/deployments.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { hasEnded } from './find-removed-uses.ts';
import { artifactOf } from './verify-artifact.ts';

export type RemoveDeploymentResult =
  | { readonly kind: 'removed'; readonly removedAt: Instant }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'deployment_active' }
  | { readonly kind: 'deployment_in_use'; readonly runId: RunId };

type Needs = Pick<Deps, 'deployments' | 'artifacts' | 'log' | 'notices' | 'clock'>;

/** A start pins the deployment before it creates the run. A run that does not exist after this time is never created. */
export const maxStartTime = hours(1);
const pinsPerPage = 25;
const maxConflicts = 20;

export async function removeDeployment(deps: Needs, scope: Scope, id: DeploymentId): Promise<RemoveDeploymentResult> {
  const { deployments, artifacts, notices, clock } = deps;
  const deployment = await deployments.deployment(scope, id);
  if (deployment === undefined) return { kind: 'not_found' };
  await deployments.setRemoving(scope, id, clock.now());
  if (await isActive(deps, scope, id)) {
    await deployments.setRemoving(scope, id, null);
    return { kind: 'deployment_active' };
  }
  const runId = await findPinningRun(deps, scope, id);
  if (runId !== undefined) {
    await deployments.setRemoving(scope, id, null);
    return { kind: 'deployment_in_use', runId };
  }
  await artifacts.remove(artifactOf(scope, deployment.manifest));
  const removedAt = clock.now();
  // The notice comes before the record is removed: after the removal, no repeated request could send it.
  await notices.deploymentChanged({ scope, deploymentId: id, change: 'removed', changedAt: removedAt });
  await deployments.remove(scope, id, removedAt);
  return { kind: 'removed', removedAt };
}

/** Whether the pointer names the deployment. If not, the new revision makes every concurrent activation fail. */
async function isActive({ deployments }: Needs, scope: Scope, id: DeploymentId): Promise<boolean> {
  for (let round = 0; round < maxConflicts; round += 1) {
    const pointer = await deployments.pointer(scope);
    if (activeDeploymentsIn(pointer).has(id)) return true;
    if (await deployments.movePointer(scope, pointer?.revision ?? 0, pointerWithout(pointer, undefined))) return false;
  }
  throw new Unavailable('the pointer to the active deployments');
}

/** Finds an open run that pins the deployment. Removes the pins of ended runs and of runs that were never created. */
async function findPinningRun({ deployments, log, clock }: Needs, scope: Scope, id: DeploymentId): Promise<RunId | undefined> {
  for (;;) {
    const pins = await deployments.pinnedRuns(scope, id, pinsPerPage);
    if (pins.length === 0) return undefined;
    for (const { runId, since } of pins) {
      const head = await log.head({ ...scope, runId });
      const isOpen = head === undefined ? clock.now() - since < maxStartTime : !hasEnded(head);
      if (isOpen) return runId;
      await deployments.unpin(scope, id, runId);
    }
  }
}
