/**
 * Activates a deployment of an app for new runs, rolls the app back, or deactivates it. One conditional write moves the pointer; open
 * runs stay on their deployments. The activation reads the deployment after the pointer, and a removal changes the pointer's revision
 * first, so the pointer never names a deployment that is being removed.
 */
import { defined } from '../../base/defined.ts';
import type { AppName, DeploymentId, KeyId, Scope, WorkflowName } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import {
  type Activation,
  type ActivePointer,
  type Deployment,
  activeApp,
  maxPointerLength,
  pointerAfter,
  pointerWithout,
} from '../../ports/deployments.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { namesTakenByGraphs } from '../definitions/deployed-names.ts';
import { type RemovedUse, findRemovedUses } from './find-removed-uses.ts';
import { type NoApp, chooseApp } from './get-deployments.ts';
import { type ArtifactRefusal, verifyArtifact } from './verify-artifact.ts';

export interface Activated {
  readonly kind: 'activated';
  readonly app: AppName;
  readonly deploymentId: DeploymentId;
  readonly activatedAt: Instant;
  readonly previousDeploymentId: DeploymentId | null;
  readonly revision: number;
}

/** A name of a workflow that another app or a published graph uses. */
export interface TakenName {
  readonly name: string;
  /** absent: a published graph */
  readonly app?: AppName;
}

/** The change would remove workflows that open runs or schedules use. */
export interface WorkflowsInUse {
  readonly kind: 'workflows_in_use';
  readonly app: AppName;
  readonly uses: readonly RemovedUse[];
}

export type ActivateResult =
  | Activated
  | { readonly kind: 'not_found' }
  | { readonly kind: 'workflow_name_taken'; readonly app: AppName; readonly names: readonly TakenName[] }
  | { readonly kind: 'too_many_apps' }
  | WorkflowsInUse
  | ArtifactRefusal;

export interface Change {
  readonly by: KeyId | null;
  /** the caller accepts that workflows in use are removed */
  readonly allowsRemoval: boolean;
}

type Needs = Pick<Deps, 'deployments' | 'artifacts' | 'workflows' | 'log' | 'schedules' | 'notices' | 'clock'>;

/** Maximum number of lost conditional writes before the request fails as `unavailable`. With 20, one of 16 concurrent callers failed. */
const maxConflicts = 60;

export const activateDeployment = (
  deps: Needs,
  scope: Scope,
  deploymentId: DeploymentId,
  change: Change,
): Promise<ActivateResult> => moveActivePointer<never>(deps, scope, change, async () => ({ kind: 'chosen', deploymentId }));

type NoPrevious = { readonly kind: 'no_previous_deployment' } | Extract<NoApp, { kind: 'app_required' }>;

/**
 * @param target `deploymentId` absent: the previously active deployment of the app; `app` absent: the only app with an active
 *   deployment
 */
export const rollbackDeployment = (
  deps: Needs,
  scope: Scope,
  { deploymentId, app }: { readonly deploymentId?: DeploymentId | undefined; readonly app?: AppName | undefined },
  change: Change,
): Promise<ActivateResult | NoPrevious> =>
  moveActivePointer<NoPrevious>(deps, scope, { ...change, isRollback: true }, async (pointer) => {
    if (deploymentId !== undefined) return { kind: 'chosen', deploymentId };
    const choice = chooseApp(pointer, app);
    if (choice.kind === 'app_required') return choice;
    const previous = choice.kind === 'chosen' ? await findPrevious(deps, scope, choice.active.history) : undefined;
    return previous === undefined ? { kind: 'no_previous_deployment' } : { kind: 'chosen', deploymentId: previous };
  });

type Chosen = { readonly kind: 'chosen'; readonly deploymentId: DeploymentId };

async function moveActivePointer<Refused extends NoPrevious>(
  deps: Needs,
  scope: Scope,
  { allowsRemoval, ...actor }: Change & Pick<Activation, 'isRollback'>,
  choose: (pointer: ActivePointer | undefined) => Promise<Chosen | Refused>,
): Promise<ActivateResult | Refused> {
  const { deployments, clock } = deps;
  for (let round = 0; round < maxConflicts; round += 1) {
    const pointer = await deployments.pointer(scope);
    const choice = await choose(pointer);
    if (choice.kind !== 'chosen') return choice;
    const deployment = await deployments.deployment(scope, choice.deploymentId);
    if (deployment === undefined || deployment.removingSince !== undefined) return { kind: 'not_found' };
    const { manifest } = deployment;
    if (pointer !== undefined && activeApp(pointer, manifest.app)?.history[0].deploymentId === choice.deploymentId)
      return completeActivation(deps, scope, pointer, deployment);

    const moved = pointerAfter(pointer, manifest, { deploymentId: choice.deploymentId, at: clock.now(), ...actor });
    if (JSON.stringify(moved).length > maxPointerLength) return { kind: 'too_many_apps' };
    const refusal =
      (await verifyArtifact(deps, scope, deployment)) ??
      (await findTakenNames(deps, scope, pointer, deployment)) ??
      (allowsRemoval || pointer === undefined
        ? undefined
        : await findWorkflowsInUse(deps, scope, manifest.app, { pointer, moved }));
    if (refusal !== undefined) return refusal;
    if (await deployments.movePointer(scope, moved.revision - 1, moved))
      return completeActivation(deps, scope, moved, deployment);
  }
  throw new Unavailable('the pointer to the active deployments');
}

/** Sends the notice of an activation, then marks it as sent. After a crash in between, a repeated request sends the notice again. */
async function completeActivation(
  { deployments, notices }: Needs,
  scope: Scope,
  pointer: ActivePointer,
  { manifest: { app }, ...deployment }: Deployment,
): Promise<Activated | { readonly kind: 'not_found' }> {
  const [current, previous] = activeApp(pointer, app)?.history ?? [];
  if (current === undefined) return { kind: 'not_found' };
  const { revision } = pointer;
  const { deploymentId, at: activatedAt, isRollback } = current;
  const previousDeploymentId = previous?.deploymentId ?? null;
  if (deployment.activatedAt !== activatedAt) {
    const facts = defined({ app, previousDeploymentId, revision, isRollback });
    await notices.deploymentActivated({ scope, deploymentId, ...facts, activatedAt });
    await deployments.markActivated(scope, deploymentId, activatedAt);
  }
  return { kind: 'activated', app, deploymentId, activatedAt, previousDeploymentId, revision };
}

/** The latest other deployment of the history that still exists. */
async function findPrevious(
  { deployments }: Needs,
  scope: Scope,
  [current, ...history]: readonly Activation[],
): Promise<DeploymentId | undefined> {
  const earlier = new Set(history.map(({ deploymentId }) => deploymentId).filter((id) => id !== current?.deploymentId));
  for (const id of earlier) {
    const deployment = await deployments.deployment(scope, id);
    if (deployment !== undefined && deployment.removingSince === undefined) return id;
  }
  return undefined;
}

/** The names that other apps or published graphs use. One write moves the pointer of all apps, so two apps never have one name. */
async function findTakenNames(deps: Needs, scope: Scope, pointer: ActivePointer | undefined, { manifest }: Deployment) {
  const own = new Set(manifest.workflows.map(({ name }) => name));
  const others = pointer?.apps.filter(({ app }) => app !== manifest.app) ?? [];
  const ofApps = others.flatMap(({ app, workflows }) => workflows.flatMap((name) => (own.has(name) ? [{ name, app }] : [])));
  const ofGraphs: readonly WorkflowName[] = await namesTakenByGraphs(deps, scope, manifest);
  const names: readonly TakenName[] = [...ofApps, ...ofGraphs.map((name) => ({ name }))];
  return names.length === 0 ? undefined : ({ kind: 'workflow_name_taken', app: manifest.app, names } as const);
}

async function findWorkflowsInUse(
  deps: Needs,
  scope: Scope,
  app: AppName,
  { pointer, moved }: { readonly pointer: ActivePointer; readonly moved: ActivePointer },
): Promise<WorkflowsInUse | undefined> {
  const kept = new Set(activeApp(moved, app)?.workflows);
  const removed = activeApp(pointer, app)?.workflows.filter((name) => !kept.has(name)) ?? [];
  const uses = await findRemovedUses(deps, scope, { pointer, app, removed });
  return uses.length === 0 ? undefined : { kind: 'workflows_in_use', app, uses };
}

export interface Deactivated {
  readonly kind: 'deactivated';
  readonly app: AppName;
  readonly revision: number;
}

/** Leaves the app of an active deployment without one: no run starts on it by name. An inactive deployment stays as it is. */
export async function deactivateDeployment(
  deps: Needs,
  scope: Scope,
  deploymentId: DeploymentId,
  { allowsRemoval }: Pick<Change, 'allowsRemoval'>,
): Promise<Deactivated | { readonly kind: 'not_found' } | WorkflowsInUse> {
  const { deployments } = deps;
  for (let round = 0; round < maxConflicts; round += 1) {
    const pointer = await deployments.pointer(scope);
    const deployment = await deployments.deployment(scope, deploymentId);
    if (deployment === undefined) return { kind: 'not_found' };
    const { app } = deployment.manifest;
    if (pointer === undefined || activeApp(pointer, app)?.history[0].deploymentId !== deploymentId)
      return { kind: 'deactivated', app, revision: pointer?.revision ?? 0 };
    const moved = pointerWithout(pointer, app);
    const refusal = allowsRemoval ? undefined : await findWorkflowsInUse(deps, scope, app, { pointer, moved });
    if (refusal !== undefined) return refusal;
    if (await deployments.movePointer(scope, pointer.revision, moved))
      return { kind: 'deactivated', app, revision: moved.revision };
  }
  throw new Unavailable('the pointer to the active deployments');
}
