/**
 * A name means one workflow: a published graph's, or the active deployment's. Each side asks about the other before it takes
 * a name; where both do so at the same moment both get it, and a start then means the graph.
 */
import { type Scope, type WorkflowName, workflowName } from '../../engine/ids.ts';
import { type Manifest, activeDeploymentIn } from '../../ports/deployments.ts';
import type { Deps } from '../deps.ts';
import { closedReason } from './closed-reason.ts';

/** The workflows of the manifest whose names published graphs have. */
export async function namesTakenByGraphs(
  { workflows }: Pick<Deps, 'workflows'>,
  scope: Scope,
  manifest: Manifest,
): Promise<readonly WorkflowName[]> {
  const summaries = await Promise.all(manifest.workflows.map(({ name }) => workflows.summary(scope, workflowName(name))));
  return summaries.flatMap((one) => (one === undefined || closedReason(one) !== undefined ? [] : [one.name]));
}

/** Whether the active deployment has a workflow of that name. */
export async function isServedByDeployment(
  { deployments }: Pick<Deps, 'deployments'>,
  scope: Scope,
  name: WorkflowName,
): Promise<boolean> {
  const active = activeDeploymentIn(await deployments.pointer(scope));
  const deployment = active === undefined ? undefined : await deployments.deployment(scope, active);
  return deployment?.manifest.workflows.some((workflow) => workflow.name === name) ?? false;
}
