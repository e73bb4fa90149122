/** Checks whether a deployment can run a workflow. */
import { defined } from '../../base/defined.ts';
import type { DeploymentId, Scope } from '../../engine/ids.ts';
import type { Deployment } from '../../ports/deployments.ts';
import type { Resolver } from '../decider.ts';
import type { Deps } from '../deps.ts';

export type NotReady =
  | { readonly kind: 'deployment_not_found'; readonly deploymentId: DeploymentId }
  /** the deployment does not contain the workflow */
  | { readonly kind: 'workflow_not_found' }
  /** its artifact was never verified, or never uploaded */
  | { readonly kind: 'deployment_not_verified'; readonly deploymentId: DeploymentId };

/** A workflow in the deployment's manifest. */
export interface ServedWorkflow {
  /** The code of a Workflow DevKit app starts its runs itself. */
  readonly runtime: Exclude<Deployment['manifest']['runtime'], 'devkit'>;
  readonly workflowName: string;
  /** the author's version name; only for code */
  readonly codeVersion?: string;
  /** as the author declared it; only for code */
  readonly deadlineSeconds?: number;
}

export interface DeploymentReader extends Pick<Resolver, 'known'> {
  readonly deps: Pick<Deps, 'deployments'>;
}

/** Finds a deployment as it is now, or as this process knows it. */
export const findDeployment = (
  { deps: { deployments }, known }: DeploymentReader,
  scope: Scope,
  id: DeploymentId,
): Promise<Deployment | undefined> => known?.deployment(deployments, scope, id) ?? deployments.deployment(scope, id);

export async function findReadyDeployment(
  reader: DeploymentReader,
  scope: Scope,
  id: DeploymentId,
  workflow: string,
): Promise<NotReady | { readonly kind: 'ready'; readonly serves: ServedWorkflow }> {
  const deployment = await findDeployment(reader, scope, id);
  if (deployment === undefined || deployment.removingSince !== undefined)
    return { kind: 'deployment_not_found', deploymentId: id };
  const { runtime, workflows } = deployment.manifest;
  // A manifest may list several versions of a code workflow: runs start on the last one.
  const served = workflows.findLast(({ name }) => name === workflow);
  if (served === undefined || runtime === 'devkit') return { kind: 'workflow_not_found' };
  if (deployment.verifiedAt === undefined) return { kind: 'deployment_not_verified', deploymentId: id };
  const { version, deadlineSeconds } = served;
  return {
    kind: 'ready',
    serves: defined({ runtime, workflowName: workflow, codeVersion: version, deadlineSeconds }),
  };
}
