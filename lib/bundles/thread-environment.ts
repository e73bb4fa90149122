/**
 * The environment variables of a deployment's code. They do not contain the function's credentials or the names of the product's
 * tables and queues. If the owner configured a role for authors, they contain the credentials of that role.
 *
 * This hides the function's credentials from code that only reads `process.env`, such as libraries and logs. It is not a security
 * boundary: the thread shares the process, and malicious code can read the process environment from the operating system.
 * The boundary is the IAM role: a person who may deploy code can use all permissions of the function's role and the authors' role.
 */
import { tmpdir } from 'node:os';
import type { DeploymentId } from '../engine/ids.ts';

const passedThrough = ['NODE_ENV', 'TZ', 'LANG'] as const;

/** @param variables the owner's `codeVariables` and the credentials; the product's own names take precedence */
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
