/**
 * Activates a deployment for new runs, or rolls back to an earlier one. One conditional write moves the pointer; open runs stay on
 * their deployments. The activation reads the deployment after the pointer, and a removal changes the pointer's revision first, so
 * the pointer never names a deployment that is being removed.
 */
import { defined } from '../../base/defined.ts';
import type { DeploymentId, KeyId, Scope, WorkflowName } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import {
  type Activation,
  type ActivePointer,
  type Deployment,
  activeDeploymentIn,
  maxActivationHistory,
} from '../../ports/deployments.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { namesTakenByGraphs } from '../definitions/deployed-names.ts';
import { type ArtifactRefusal, verifyArtifact } from './verify-artifact.ts';

export interface Activated {
  readonly kind: 'activated';
  readonly deploymentId: DeploymentId;
  readonly activatedAt: Instant;
  readonly previousDeploymentId: DeploymentId | null;
  readonly revision: number;
}

export type ActivateResult =
  | Activated
  | { readonly kind: 'not_found' }
  | { readonly kind: 'workflow_name_taken'; readonly names: readonly WorkflowName[] }
  | ArtifactRefusal;

type Needs = Pick<Deps, 'deployments' | 'artifacts' | 'workflows' | 'notices' | 'clock'>;

/** Maximum number of lost conditional writes before the request fails as `unavailable`. With 20, one of 16 concurrent callers failed. */
const maxConflicts = 60;

export const activateDeployment = (
  deps: Needs,
  scope: Scope,
  deploymentId: DeploymentId,
  by: KeyId | null,
): Promise<ActivateResult> => moveActivePointer<never>(deps, scope, { by }, async () => ({ kind: 'chosen', deploymentId }));

type NoPrevious = { readonly kind: 'no_previous_deployment' };

/** @param deploymentId absent: the previously active deployment */
export const rollbackDeployment = (
  deps: Needs,
  scope: Scope,
  deploymentId: DeploymentId | undefined,
  by: KeyId | null,
): Promise<ActivateResult | NoPrevious> =>
  moveActivePointer<NoPrevious>(deps, scope, { by, isRollback: true }, async (pointer) => {
    const chosen = deploymentId ?? (await findPrevious(deps, scope, pointer));
    return chosen === undefined ? { kind: 'no_previous_deployment' } : { kind: 'chosen', deploymentId: chosen };
  });

type Chosen = { readonly kind: 'chosen'; readonly deploymentId: DeploymentId };

async function moveActivePointer<Refused extends { readonly kind: 'no_previous_deployment' }>(
  deps: Needs,
  scope: Scope,
  actor: Pick<Activation, 'by' | 'isRollback'>,
  choose: (pointer: ActivePointer | undefined) => Promise<Chosen | Refused>,
): Promise<ActivateResult | Refused> {
  const { deployments, clock } = deps;
  for (let round = 0; round < maxConflicts; round += 1) {
    const pointer = await deployments.pointer(scope);
    const choice = await choose(pointer);
    if (choice.kind !== 'chosen') return choice;
    const id = choice.deploymentId;
    const deployment = await deployments.deployment(scope, id);
    if (deployment === undefined || deployment.removingSince !== undefined) return { kind: 'not_found' };
    if (pointer !== undefined && activeDeploymentIn(pointer) === id) return completeActivation(deps, scope, pointer, deployment);

    const refusal = (await verifyArtifact(deps, scope, deployment)) ?? (await namesTaken(deps, scope, deployment));
    if (refusal !== undefined) return refusal;
    const activation: Activation = { deploymentId: id, at: clock.now(), ...actor };
    const moved: ActivePointer = {
      revision: (pointer?.revision ?? 0) + 1,
      history: [activation, ...(pointer?.history ?? [])].slice(0, maxActivationHistory),
    };
    if (await deployments.movePointer(scope, moved.revision - 1, moved))
      return completeActivation(deps, scope, moved, deployment);
  }
  throw new Unavailable('the pointer to the active deployment');
}

/** Sends the notice of an activation, then marks it as sent. After a crash in between, a repeated request sends the notice again. */
async function completeActivation(
  { deployments, notices }: Needs,
  scope: Scope,
  { revision, history }: ActivePointer,
  deployment: Deployment,
): Promise<Activated | { readonly kind: 'not_found' }> {
  const [current, previous] = history;
  if (current === undefined) return { kind: 'not_found' };
  const { deploymentId, at: activatedAt, isRollback } = current;
  const previousDeploymentId = previous?.deploymentId ?? null;
  if (deployment.activatedAt !== activatedAt) {
    const facts = defined({ previousDeploymentId, revision, isRollback });
    await notices.deploymentActivated({ scope, deploymentId, ...facts, activatedAt });
    await deployments.markActivated(scope, deploymentId, activatedAt);
  }
  return { kind: 'activated', deploymentId, activatedAt, previousDeploymentId, revision };
}

/** The latest other deployment of the history that still exists. */
async function findPrevious(
  { deployments }: Needs,
  scope: Scope,
  pointer: ActivePointer | undefined,
): Promise<DeploymentId | undefined> {
  const earlier = new Set(
    pointer?.history.map(({ deploymentId }) => deploymentId).filter((id) => id !== activeDeploymentIn(pointer)),
  );
  for (const id of earlier) {
    const deployment = await deployments.deployment(scope, id);
    if (deployment !== undefined && deployment.removingSince === undefined) return id;
  }
  return undefined;
}

async function namesTaken(deps: Needs, scope: Scope, { manifest }: Deployment) {
  const names = await namesTakenByGraphs(deps, scope, manifest);
  return names.length === 0 ? undefined : ({ kind: 'workflow_name_taken', names } as const);
}
