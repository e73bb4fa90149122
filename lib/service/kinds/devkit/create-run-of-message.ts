/** Creates the run of a message that carries what its run is created from, as a start sends it. */
import { defined } from '../../../base/defined.ts';
import type { WorldRequest } from '../../../engine/devkit/decide.ts';
import type { DeploymentId, RunAddress } from '../../../engine/ids.ts';
import { type JsonObject, inline } from '../../../engine/json.ts';
import { createRunOf } from './create-run-event.ts';
import type { EventResult } from './event-result.ts';
import { withUpload } from './uploads.ts';
import type { World } from './world.ts';
import type { WorldResult } from './world-error.ts';

export async function createRunOfMessage(
  world: World,
  run: RunAddress,
  runInput: JsonObject,
  deploymentId: DeploymentId | undefined,
): Promise<WorldResult<EventResult> | { readonly kind: 'exists' }> {
  const request = await withUpload(world.deps, run, creationIn(runInput, deploymentId), '/message/runInput/input');
  return 'code' in request ? request : createRunOf(world, { run, request, params: { resolveData: 'none' } });
}

/** The event of a start, from what its message carries. */
function creationIn(runInput: JsonObject, deploymentId: DeploymentId | undefined): WorldRequest {
  const { input, specVersion, workflowName, executionContext, attributes, allowReservedAttributes, encryptionPublicKey } =
    runInput;
  const ownDeployment = runInput['deploymentId'] ?? deploymentId;
  const fields = { workflowName, executionContext, attributes, allowReservedAttributes, encryptionPublicKey };
  return defined({
    event: 'run_created',
    specVersion: typeof specVersion === 'number' ? specVersion : undefined,
    data: defined({ ...fields, deploymentId: ownDeployment }),
    payload: inline(input ?? null),
  });
}
