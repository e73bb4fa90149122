/** What the first event of a run creates. */
import { createHash } from 'node:crypto';
import type { WorldRequest } from '../../../engine/devkit/decide.ts';
import { textIn } from '../../../engine/devkit/fold.ts';
import { deploymentId as toDeploymentId, deploymentIdPattern } from '../../../engine/ids.ts';
import { inline } from '../../../engine/json.ts';
import type { ResolvedDevKit } from '../../new-run.ts';
import { type WorldError, invalid } from './world-error.ts';

export function resolvedOf(request: WorldRequest): ResolvedDevKit | WorldError {
  const workflowName = textIn(request, 'workflowName');
  const deployment = textIn(request, 'deploymentId');
  if (workflowName === undefined || deployment === undefined || !deploymentIdPattern.test(deployment))
    return invalid('/data/eventData', 'a run is created with a workflowName, a deploymentId and an input');
  return {
    kind: 'found',
    runtime: 'devkit',
    workflowName,
    deploymentId: toDeploymentId(deployment),
    input: null,
    request: { ...request, payload: request.payload ?? inline(null) },
  };
}

/** SHA-256 of the request, in hex. */
export const hashOf = ({ data, payload }: WorldRequest): string =>
  createHash('sha256')
    .update(JSON.stringify([data ?? null, payload ?? null]))
    .digest('hex');
