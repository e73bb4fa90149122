/** What an activation changes for callers: which deployment follows which, and which workflows come and go. */
import { ComputeClientError, type StepwellClient } from '../../client/index.ts';
import type { Shell } from '../command.ts';

export interface Change {
  readonly previousDeploymentId: string | null;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

type Client = Pick<StepwellClient, 'getDeployment' | 'getActiveDeployment'>;

/** null: there is none */
export async function activeId(client: Client, { signal }: Shell): Promise<string | null> {
  try {
    return (await client.getActiveDeployment({ signal })).deploymentId;
  } catch (trouble) {
    if (trouble instanceof ComputeClientError && trouble.code === 'no_active_deployment') return null;
    throw trouble;
  }
}

export async function changeBetween(client: Client, shell: Shell, from: string | null, to: string): Promise<Change> {
  const [before, now] = await Promise.all([workflowsOf(client, shell, from), workflowsOf(client, shell, to)]);
  return {
    previousDeploymentId: from,
    added: now.filter((name) => !before.includes(name)),
    removed: before.filter((name) => !now.includes(name)),
  };
}

/** None of one that is gone. */
async function workflowsOf(client: Client, { signal }: Shell, id: string | null): Promise<readonly string[]> {
  if (id === null) return [];
  try {
    return (await client.getDeployment(id, { signal })).workflows.map(({ name }) => name);
  } catch (trouble) {
    if (trouble instanceof ComputeClientError && trouble.code === 'not_found') return [];
    throw trouble;
  }
}

export const changeLines = ({ paint }: Pick<Shell, 'paint'>, change: Change, to: string): readonly string[] => [
  `${change.previousDeploymentId ?? '(none)'} → ${paint('bold', to)}`,
  ...change.added.map((name) => paint('good', `+ ${name}`)),
  ...change.removed.map((name) => paint('bad', `- ${name}`)),
  ...(change.added.length + change.removed.length === 0 ? ['The workflows are the same.'] : []),
];
