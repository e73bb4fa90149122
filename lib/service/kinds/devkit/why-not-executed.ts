/** Checks at the start of a run of the Workflow DevKit that its deployment can execute it, so that the application learns it at once. */
import { maxSpecVersion } from '../../../engine/devkit/events.ts';
import type { Scope } from '../../../engine/ids.ts';
import type { Deps } from '../../deps.ts';
import type { ResolvedDevKit } from '../../new-run.ts';
import { type WorldError, refused } from './world-error.ts';

/** Workflows that a message names. A manifest can have thousands; a few show a typing error. */
const maxNamed = 10;

/** Why the deployment cannot execute the run. Undefined: it can, or there is none, as for an application with an address of its own. */
export async function whyNotExecuted(
  { deployments }: Pick<Deps, 'deployments'>,
  scope: Scope,
  { deploymentId: id, workflowName, request: { specVersion = 1 } }: ResolvedDevKit,
): Promise<WorldError | undefined> {
  const deployment = await deployments.deployment(scope, id);
  if (deployment === undefined || deployment.removingSince !== undefined) return undefined;
  const { devkit, workflows } = deployment.manifest;
  if (devkit === undefined || !workflows.some(({ name }) => name === workflowName)) {
    const names = devkit === undefined ? [] : workflows.slice(0, maxNamed).map(({ name }) => name);
    const found = names.length === 0 ? 'no workflows of the Workflow DevKit' : `the workflows ${names.join(', ')}`;
    const rest = workflows.length > names.length && names.length > 0 ? ` and ${workflows.length - names.length} more` : '';
    const next = 'Correct the name, or build the app and deploy it again.';
    return refused('workflow_not_found', `the deployment ${id} has no workflow ${workflowName}. It has ${found}${rest}. ${next}`);
  }
  if (deployment.verifiedAt === undefined)
    return refused('deployment_not_verified', `the artifact of the deployment ${id} has not been verified yet`);
  if (specVersion <= latestReadBy(devkit.specVersion)) return undefined;
  const built = `the deployment ${id} is built with Workflow DevKit ${devkit.sdkVersion}, spec version ${devkit.specVersion}`;
  return refused(
    'run_not_supported',
    `the run has spec version ${specVersion}, and ${built}. Use one version of the package workflow in both`,
  );
}

/** From this version on, a setting of the application chooses between this version and the latest one. */
const firstOfChoice = 6;
const latestReadBy = (specVersion: number): number => (specVersion >= firstOfChoice ? maxSpecVersion : specVersion);
