/** What an activation changes for callers: which deployment follows which, and which workflows come, go and are other ones. */
import { ComputeClientError, type StepwellClient } from '../../client/index.ts';
import type { CommandContext } from '../command.ts';
import { digestPath, readDigests, workflowLabel } from '../project/workflow-label.ts';

export interface DeploymentChange {
  readonly previousDeploymentId: string | null;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** their code, or something that it imports, is another; of bundles this is not known */
  readonly changed: readonly string[];
}

type Client = Pick<StepwellClient, 'getDeployment' | 'getActiveDeployment'>;

/** null: there is none */
export async function readActiveDeploymentId(client: Client, { signal }: Pick<CommandContext, 'signal'>): Promise<string | null> {
  try {
    return (await client.getActiveDeployment({ signal })).deploymentId;
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

/** With what is known of its code. None of a deployment that is gone. */
async function readWorkflowDigests(
  client: Client,
  { signal }: Pick<CommandContext, 'signal'>,
  id: string | null,
): Promise<ReadonlyMap<string, string | undefined>> {
  if (id === null) return new Map();
  try {
    const { workflows, files } = await client.getDeployment(id, { signal });
    const digests = readDigests(files);
    return new Map(workflows.map((each) => [workflowLabel(each), digests.get(digestPath(each))]));
  } catch (error) {
    if (error instanceof ComputeClientError && error.code === 'not_found') return new Map();
    throw error;
  }
}

export const formatChange = (
  { colorize }: Pick<CommandContext, 'colorize'>,
  change: DeploymentChange,
  to: string,
): readonly string[] => [
  `${change.previousDeploymentId ?? '(none)'} → ${colorize('bold', to)}`,
  ...change.added.map((name) => colorize('good', `+ ${name}`)),
  ...change.removed.map((name) => colorize('bad', `- ${name}`)),
  ...change.changed.map((name) => colorize('warn', `~ ${name}`)),
  ...(change.added.length + change.removed.length + change.changed.length === 0 ? ['The workflows are the same.'] : []),
];
