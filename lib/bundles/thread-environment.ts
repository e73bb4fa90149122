/**
 * The variables that a deployment's code sees. Nothing of the function's own: neither its credentials nor the names of
 * the product's tables and queues. Where the owner has given the authors a role, its credentials.
 *
 * This keeps credentials from what only reads `process.env`, such as a library or a log of it. It is no wall: the thread
 * shares its process with the function, and code that means to can read the process's own environment from the system.
 * What holds is the function's role. Whoever may deploy code is trusted with all that this role may do, and the role of the authors.
 */
import { tmpdir } from 'node:os';
import type { DeploymentId } from '../engine/ids.ts';

const passedThrough = ['NODE_ENV', 'TZ', 'LANG'] as const;

/** @param variables what the owner of the installation gives to all code that is deployed, and what it is lent; the product's names win */
export const environmentOf = (
  deploymentId: DeploymentId,
  variables: Readonly<Record<string, string>>,
  processEnv: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> => ({
  NODE_ENV: 'production',
  ...Object.fromEntries(passedThrough.flatMap((name) => (processEnv[name] === undefined ? [] : [[name, processEnv[name]]]))),
  ...variables,
  TMPDIR: tmpdir(),
  STEPWELL_DEPLOYMENT_ID: deploymentId,
});
