/** What an activation changes for callers: which deployment follows which, and which workflows come, go and are other ones. */
import { ComputeClientError, type StepwellClient } from '../../client/index.ts';
import type { Shell } from '../command.ts';
import { digestPath, digestsIn, labelOf } from '../project/workflow-label.ts';

export interface Change {
  readonly previousDeploymentId: string | null;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** their code, or something that it imports, is another; of bundles this is not known */
  readonly changed: readonly string[];
}

type Client = Pick<StepwellClient, 'getDeployment' | 'getActiveDeployment'>;

/** null: there is none */
export async function activeId(client: Client, { signal }: Pick<Shell, 'signal'>): Promise<string | null> {
  try {
    return (await client.getActiveDeployment({ signal })).deploymentId;
  } catch (trouble) {
    if (trouble instanceof ComputeClientError && trouble.code === 'no_active_deployment') return null;
    throw trouble;
  }
}

export async function changeBetween(
  client: Client,
  shell: Pick<Shell, 'signal'>,
  from: string | null,
  to: string,
): Promise<Change> {
  const [before, now] = await Promise.all([workflowsOf(client, shell, from), workflowsOf(client, shell, to)]);
  return {
    previousDeploymentId: from,
    added: [...now.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !now.has(name)),
    changed: [...now].filter(([name, digest]) => before.has(name) && isOther(before.get(name), digest)).map(([name]) => name),
  };
}

const isOther = (before: string | undefined, now: string | undefined): boolean =>
  before !== undefined && now !== undefined && before !== now;

/** With what is known of its code. None of a deployment that is gone. */
async function workflowsOf(
  client: Client,
  { signal }: Pick<Shell, 'signal'>,
  id: string | null,
): Promise<ReadonlyMap<string, string | undefined>> {
  if (id === null) return new Map();
  try {
    const { workflows, files } = await client.getDeployment(id, { signal });
    const digests = digestsIn(files);
    return new Map(workflows.map((each) => [labelOf(each), digests.get(digestPath(each))]));
  } catch (trouble) {
    if (trouble instanceof ComputeClientError && trouble.code === 'not_found') return new Map();
    throw trouble;
  }
}

export const changeLines = ({ paint }: Pick<Shell, 'paint'>, change: Change, to: string): readonly string[] => [
  `${change.previousDeploymentId ?? '(none)'} → ${paint('bold', to)}`,
  ...change.added.map((name) => paint('good', `+ ${name}`)),
  ...change.removed.map((name) => paint('bad', `- ${name}`)),
  ...change.changed.map((name) => paint('warn', `~ ${name}`)),
  ...(change.added.length + change.removed.length + change.changed.length === 0 ? ['The workflows are the same.'] : []),
];
