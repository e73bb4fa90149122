/** Reads one deployment, lists deployments newest first, or reads the active deployments of apps. */
import type { AppName, DeploymentId, Scope } from '../../engine/ids.ts';
import {
  type ActiveApp,
  type ActivePointer,
  type Activation,
  type DeploymentPosition,
  activeApp,
  activeDeploymentsIn,
} from '../../ports/deployments.ts';
import type { Deps } from '../deps.ts';
import { type DeploymentView, deploymentViewOf } from './deployment-status.ts';

type Needs = Pick<Deps, 'deployments'>;

/** A list counts the open runs of each deployment up to this number. */
export const maxCountedRuns = 100;

export interface ListedDeployment extends DeploymentView {
  /** runs that pin the deployment; `maxCountedRuns` means that there may be more */
  readonly openRuns: number;
}

export async function getDeployment({ deployments }: Needs, scope: Scope, id: DeploymentId): Promise<DeploymentView | undefined> {
  const [deployment, pointer] = await Promise.all([deployments.deployment(scope, id), deployments.pointer(scope)]);
  return deployment && deploymentViewOf(deployment, activeDeploymentsIn(pointer));
}

export async function listDeployments(
  { deployments }: Needs,
  scope: Scope,
  options: { readonly limit: number; readonly after?: DeploymentPosition },
): Promise<{ readonly deployments: readonly ListedDeployment[]; readonly next?: DeploymentPosition }> {
  const [{ deployments: found, ...more }, pointer] = await Promise.all([
    deployments.list(scope, options),
    deployments.pointer(scope),
  ]);
  const active = activeDeploymentsIn(pointer);
  const views = found.map(async (deployment) => ({
    ...deploymentViewOf(deployment, active),
    openRuns: (await deployments.pinnedRuns(scope, deployment.manifest.deploymentId, maxCountedRuns)).length,
  }));
  return { deployments: await Promise.all(views), ...more };
}

export type NoApp =
  | { readonly kind: 'no_active_deployment' }
  /** the request names no app, and several have an active deployment */
  | { readonly kind: 'app_required'; readonly apps: readonly AppName[] };

/** The named app, or the only one with an active deployment. */
export function chooseApp(
  pointer: ActivePointer | undefined,
  app: AppName | undefined,
): NoApp | { readonly kind: 'chosen'; readonly active: ActiveApp } {
  const apps = pointer?.apps ?? [];
  if (app === undefined && apps.length > 1) return { kind: 'app_required', apps: apps.map((one) => one.app) };
  const active = app === undefined ? apps[0] : activeApp(pointer, app);
  return active === undefined ? { kind: 'no_active_deployment' } : { kind: 'chosen', active };
}

export interface ActiveDeployment extends Activation {
  readonly kind: 'active';
  readonly app: AppName;
  readonly workflows: readonly string[];
  readonly revision: number;
}

/** @param app absent: the only app with an active deployment */
export async function activeDeployment(
  { deployments }: Needs,
  scope: Scope,
  app: AppName | undefined,
): Promise<ActiveDeployment | NoApp> {
  const pointer = await deployments.pointer(scope);
  const choice = chooseApp(pointer, app);
  if (choice.kind !== 'chosen') return choice;
  const { active } = choice;
  return { kind: 'active', ...active.history[0], app: active.app, workflows: active.workflows, revision: pointer?.revision ?? 0 };
}

/** The apps with an active deployment, by name. There are as many as fit one record, so the list has one page. */
export async function listApps({ deployments }: Needs, scope: Scope): Promise<readonly ActiveApp[]> {
  return (await deployments.pointer(scope))?.apps ?? [];
}
