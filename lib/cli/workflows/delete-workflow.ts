/** `workflows delete`: has the name typed once more, and shows how far the deletion has come until the name is free. */
import * as z from 'zod';
import { ComputeClientError } from '../../client/errors.ts';
import type { StepwellClient } from '../../client/index.ts';
import { type Action, CliFault, type Shell, exitCodes } from '../command.ts';
import { argument, optionsIn, workflowName } from '../given.ts';
import { type DeletionProgress, progressOf } from './deletion-progress.ts';

const shape = z.object({ confirm: z.string().optional(), wait: z.boolean().default(true) });

/** The service continues a deletion every minute. */
const pauseMs = 5_000;

export const deleteWorkflow: Action = async (given, shell) => {
  const name = argument(given, 0, 'name', workflowName);
  const options = optionsIn(given, shape);
  const client = await shell.client();
  const { latestVersion } = await client.getWorkflow(name, {}, { signal: shell.signal });
  const confirm = options.confirm ?? (await typedName(shell, name, latestVersion));
  if (confirm !== name) throw new CliFault('declined', `That is not the name: ${name} was not deleted.`, exitCodes.usage);
  let { deletion } = await client.deleteWorkflow(name, { confirm }, { signal: shell.signal });
  if (!options.wait) {
    const text = `${name} is being deleted. stepwell workflows get ${name} shows how far that has come.`;
    return { data: { name, deleted: false, deletion }, text };
  }
  shell.note(`${name} is closed: it takes no runs and no versions. Its runs are deleted within minutes.`);
  for (let told = ''; ;) {
    const line = progressOf(deletion);
    if (line !== told) shell.note((told = line));
    await shell.sleep(pauseMs, shell.signal);
    shell.signal.throwIfAborted();
    const next = await standing(client, name, deletion, shell);
    if (next === undefined) return { data: { name, deleted: true }, text: `${name} is deleted.` };
    deletion = next;
  }
};

const typedName = (shell: Shell, name: string, versions: number): Promise<string> =>
  shell.typed(
    `This deletes the workflow ${name}, up to version ${versions}, and all its runs, for good; open runs are cancelled. Its name:`,
    `--confirm ${name}`,
  );

/** Undefined once it is over: there is no such workflow, or another one by now. */
async function standing(
  client: StepwellClient,
  name: string,
  before: DeletionProgress,
  { signal }: Shell,
): Promise<DeletionProgress | undefined> {
  try {
    const { deletion, deletingSince } = await client.getWorkflow(name, {}, { signal });
    return deletion ?? (deletingSince === undefined ? undefined : before);
  } catch (error) {
    if (error instanceof ComputeClientError && error.code === 'workflow_not_found') return undefined;
    throw error;
  }
}
