/** Compares two deployments: which workflows an activation adds, removes and changes. */
import type { AppName } from '../../engine/ids.ts';
import type { CommandContext } from '../command.ts';
import { ComputeClientError, type StepwellClient } from '../../client/index.ts';
import { defaultApp } from '../../ports/deployments.ts';

export interface DeploymentChange {
  readonly previousDeploymentId: string | null;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** workflows whose code or imports changed; unknown for bundles; all of an app of the Workflow DevKit */
  readonly changed: readonly string[];
}

export const workflowsIn = ({ added, removed, changed }: DeploymentChange) => ({ added, removed, changed });

type Client = Pick<StepwellClient, 'getDeployment' | 'getActiveDeployment'>;

/** null: the app has no active deployment */
export async function readActiveDeploymentId(
  client: Client,
  { signal }: Pick<CommandContext, 'signal'>,
  app: AppName,
): Promise<string | null> {
  try {
    return (await client.getActiveDeployment({ app }, { signal })).deploymentId;
  } catch (error) {
    if (error instanceof ComputeClientError && error.code === 'no_active_deployment') return null;
    throw error;
  }
}

export async function compareDeployments(
  client: Client,
  context: Pick<CommandContext, 'signal'>,
  from: string | null,
  to: string,
): Promise<DeploymentChange> {
  const [before, after] = await Promise.all([
    readWorkflowDigests(client, context, from),
    readWorkflowDigests(client, context, to),
  ]);
  return {
    previousDeploymentId: from,
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after]
      .filter(([name, digest]) => before.has(name) && isDifferent(before.get(name), digest))
      .map(([name]) => name),
  };
}

const isDifferent = (before: string | undefined, after: string | undefined): boolean =>
  before !== undefined && after !== undefined && before !== after;

/** The workflows of a deployment with the digests of their sources; empty for a removed deployment. */
async function readWorkflowDigests(
  client: Client,
  { signal }: Pick<CommandContext, 'signal'>,
  id: string | null,
): Promise<ReadonlyMap<string, string | undefined>> {
  if (id === null) return new Map();
  try {
    const { workflows, files, devkit } = await client.getDeployment(id, { signal });
    const digests = readDigests(files);
    // The builder of the Workflow DevKit puts all workflows into each bundle.
    const ofBundles = devkit === undefined ? undefined : files.map(({ sha256 }) => sha256).join();
    return new Map(workflows.map((each) => [workflowLabel(each), ofBundles ?? digests.get(digestPath(each))]));
  } catch (error) {
    if (error instanceof ComputeClientError && error.code === 'not_found') return new Map();
    throw error;
  }
}

export const formatChange = (
  { colorize }: Pick<CommandContext, 'colorize'>,
  change: DeploymentChange,
  { deploymentId, app }: { readonly deploymentId: string; readonly app: string },
): readonly string[] => [
  `${app === defaultApp ? '' : `${app}: `}${change.previousDeploymentId ?? '(none)'} → ${colorize('bold', deploymentId)}`,
  ...change.added.map((name) => colorize('good', `+ ${name}`)),
  ...change.removed.map((name) => colorize('bad', `- ${name}`)),
  ...change.changed.map((name) => colorize('warn', `~ ${name}`)),
  ...(change.added.length + change.removed.length + change.changed.length === 0 ? ['The workflows did not change.'] : []),
];

/** Names a workflow of an artifact, and locates the digest of its sources. */
interface NamedWorkflow {
  readonly name: string;
  readonly version?: string;
}

export const workflowLabel = ({ name, version }: NamedWorkflow): string => (version === undefined ? name : `${name}@${version}`);

const digestDirectory = 'digests/';

/**
 * Path of a file that contains the digest of the workflow's sources. The manifest lists that file's own digest, so two
 * deployments can be compared without their artifacts. A version can be any text, so it is encoded.
 */
export const digestPath = ({ name, version }: NamedWorkflow): string =>
  `${digestDirectory}${name}${version === undefined ? '' : `@${encodeURIComponent(version)}`}`;

/** Digests by path; empty for artifacts without digest files. */
const readDigests = (files: readonly { readonly path: string; readonly sha256: string }[]): ReadonlyMap<string, string> =>
  new Map(files.filter(({ path }) => path.startsWith(digestDirectory)).map(({ path, sha256 }) => [path, sha256]));
