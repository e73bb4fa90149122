/**
 * Removes a deployment and its artifact for good, unless it is active or a run still needs it. It is marked first, and the
 * pointer's revision is changed: from then on no run starts on it and no activation that was under way succeeds. Only then
 * is it safe to look who holds on to it. Whoever dies in between leaves it marked, and the next to ask goes on.
 */
import type { DeploymentId, RunId, Scope } from '../../engine/ids.ts';
import { type Head, terminalStatuses } from '../../engine/log/head.ts';
import { type Instant, hours } from '../../engine/time.ts';
import { activeDeploymentIn } from '../../ports/deployments.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { artifactOf } from './verify-artifact.ts';

export type RemoveDeploymentResult =
  | { readonly kind: 'removed'; readonly removedAt: Instant }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'deployment_active' }
  | { readonly kind: 'deployment_in_use'; readonly runId: RunId };

type Needs = Pick<Deps, 'deployments' | 'artifacts' | 'log' | 'notices' | 'clock'>;

/** A run holds on before it exists: one that does not exist after this long never will. */
const maxStartTime = hours(1);
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
  // There is no way back any more, and of what is forgotten nobody could ask to hear again.
  await notices.deploymentChanged({ scope, deploymentId: id, change: 'removed', changedAt: removedAt });
  await deployments.remove(scope, id, removedAt);
  return { kind: 'removed', removedAt };
}

/** Whether the pointer names it; where not, no activation decided before now can make it do so. */
async function isActive({ deployments }: Needs, scope: Scope, id: DeploymentId): Promise<boolean> {
  for (let round = 0; round < maxConflicts; round += 1) {
    const pointer = await deployments.pointer(scope);
    if (activeDeploymentIn(pointer) === id) return true;
    const { revision = 0, history = [] } = pointer ?? {};
    if (await deployments.movePointer(scope, revision, { revision: revision + 1, history })) return false;
  }
  throw new Unavailable('the pointer to the active deployment');
}

/** A run that still needs it. Those that do not, and those that never came to be, are let go of on the way. */
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

const hasEnded = ({ projection }: Head): boolean => terminalStatuses.some((status) => status === projection.status);
