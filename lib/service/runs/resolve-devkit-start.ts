/**
 * A start by the public API: it has plain JSON, and the DevKit's code reads serialized arguments. An array is the list of arguments, and
 * any other value the only one. Runs that an application starts do not come here, because the application serializes them.
 */
import type { DeploymentId, DevKitName, Scope } from '../../engine/ids.ts';
import { type JsonValue, inline } from '../../engine/json.ts';
import { type DeploymentReader, type NotReady, findDeployment } from '../deployments/find-ready-deployment.ts';
import { serializeArguments } from './devkit-values.ts';
import type { ResolvedDevKit } from '../new-run.ts';

export interface DevKitStart {
  readonly scope: Scope;
  readonly workflowName: DevKitName;
  readonly input?: JsonValue;
  readonly deploymentId: DeploymentId;
}

export async function resolveDevKitStart(
  reader: DeploymentReader,
  { scope, workflowName, input, deploymentId }: DevKitStart,
): Promise<ResolvedDevKit | NotReady> {
  const deployment = await findDeployment(reader, scope, deploymentId);
  if (deployment === undefined || deployment.removingSince !== undefined) return { kind: 'deployment_not_found', deploymentId };
  const { devkit, workflows } = deployment.manifest;
  if (devkit === undefined || !workflows.some(({ name }) => name === workflowName)) return { kind: 'workflow_not_found' };
  if (deployment.verifiedAt === undefined) return { kind: 'deployment_not_verified', deploymentId };
  return {
    kind: 'found',
    runtime: 'devkit',
    workflowName,
    deploymentId,
    input: null,
    request: {
      event: 'run_created',
      specVersion: devkit.specVersion,
      data: { workflowName, deploymentId },
      payload: inline({ $bytes: serializeArguments(input) }),
    },
    sendsFirst: true,
  };
}
