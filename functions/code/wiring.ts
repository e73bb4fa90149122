/** Where the code of deployments runs in this function: on threads of its own process. */
import type { Logger } from '@aws-lambda-powertools/logger';
import { codeVariables } from '../../lib/api/schemas/code-variables.ts';
import { sessionClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { LentRole } from '../../lib/aws/lent-role.ts';
import { LocalBundles } from '../../lib/bundles/local-bundles.ts';
import { ThreadPlaces } from '../../lib/bundles/thread-places.ts';
import { ThreadPrograms } from '../../lib/bundles/thread-programs.ts';
import type { DeploymentId } from '../../lib/engine/ids.ts';
import type { Artifacts } from '../../lib/ports/artifacts.ts';
import type { Bundles } from '../../lib/ports/bundles.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { Programs } from '../../lib/ports/programs.ts';

/** Of the function's memory: one deployment's code is at work at a time, and its buffers are beside its heap. */
const heapShare = 0.6;

/** Lambda's own least; only outside of Lambda is the variable not set. */
const leastMemoryMb = 128;

/** Both runtimes share the places for threads, and the folders of artifacts. */
export function codeOn(
  world: { readonly artifacts: Artifacts; readonly clock: Clock },
  logger: Logger,
): { readonly bundles: Bundles; readonly programs: Programs } {
  const { codeRoleArn, codeVariables: variables } = settingsFrom(process.env);
  const role = codeRoleArn === undefined ? undefined : new LentRole(sessionClient(), codeRoleArn, world.clock);
  const host = {
    places: new ThreadPlaces({ artifacts: world.artifacts }),
    clock: world.clock,
    memoryMb: Math.floor(Number(process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'] ?? leastMemoryMb) * heapShare),
    // What code prints is its own business: a line of it is never taken for a line of the product's.
    print: (line: object) => logger.info('printed by the code of a deployment', { ...line }),
    variables: codeVariables.parse(JSON.parse(variables)),
    ...(role === undefined ? {} : { lend: (deploymentId: DeploymentId) => role.variables(deploymentId) }),
  };
  return { bundles: new LocalBundles(host), programs: new ThreadPrograms(host) };
}
