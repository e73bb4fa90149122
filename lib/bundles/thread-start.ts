/** What a thread of deployed code starts with: its entry file and its environment variables. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { tmpdir } from 'node:os';
import type { DeploymentId } from '../engine/ids.ts';

/** Built file name and source of the thread entry, one per runtime. */
export const bundleThreadFile = { name: 'bundle-thread.mjs', source: 'lib/bundles/thread-main.ts' } as const;

export const programThreadFile = { name: 'program-thread.mjs', source: 'lib/bundles/program-main.ts' } as const;

/** The entry file of a thread: next to the function's bundle after a build, otherwise the source file. */
export const threadFile = ({ name, source }: { readonly name: string; readonly source: string }): URL => {
  const built = new URL(name, import.meta.url);
  return existsSync(built) ? built : new URL(basename(source), import.meta.url);
};

const passedThrough = ['NODE_ENV', 'TZ', 'LANG'] as const;

/**
 * The environment variables of a deployment's code. They do not contain the function's credentials or the names of the product's
 * tables and queues. If the owner configured a role for authors, they contain the credentials of that role.
 *
 * This hides the function's credentials from code that only reads `process.env`, such as libraries and logs. It is not a security
 * boundary: the thread shares the process, and malicious code can read the process environment from the operating system.
 * The boundary is the IAM role: a person who may deploy code can use all permissions of the function's role and the authors' role.
 *
 * @param variables the owner's `codeVariables` and the credentials; the product's own names take precedence
 */
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
