/** `workflows delete`: has the name typed once more, and shows how far the deletion has come until the name is free. */
import * as z from 'zod';
import { ComputeClientError } from '../../client/errors.ts';
import type { StepwellClient } from '../../client/index.ts';
import { type Action, CliError, type CommandContext, exitCodes } from '../command.ts';
import { parseArgument, parseOptions, workflowName } from '../parse-command-line.ts';
import { type DeletionProgress, formatDeletionProgress } from './deletion-progress.ts';

const shape = z.object({ confirm: z.string().optional(), wait: z.boolean().default(true) });

/** The service continues a deletion every minute. */
const pauseMs = 5_000;

export const deleteWorkflow: Action = async (commandLine, context) => {
  const name = parseArgument(commandLine, 0, 'name', workflowName);
  const options = parseOptions(commandLine, shape);
  const client = await context.client();
  const { latestVersion } = await client.getWorkflow(name, {}, { signal: context.signal });
  const confirm = options.confirm ?? (await promptName(context, name, latestVersion));
  if (confirm !== name) throw new CliError('declined', `That is not the name: ${name} was not deleted.`, exitCodes.usage);
  let { deletion } = await client.deleteWorkflow(name, { confirm }, { signal: context.signal });
  if (!options.wait) {
    const text = `${name} is being deleted. stepwell workflows get ${name} shows how far that has come.`;
    return { data: { name, deleted: false, deletion }, text };
  }
  context.log(`${name} is closed: it takes no runs and no versions. Its runs are deleted within minutes.`);
  for (let lastPrinted = ''; ;) {
    const line = formatDeletionProgress(deletion);
    if (line !== lastPrinted) context.log((lastPrinted = line));
    await context.sleep(pauseMs, context.signal);
    context.signal.throwIfAborted();
    const next = await readProgress(client, name, deletion, context);
    if (next === undefined) return { data: { name, deleted: true }, text: `${name} is deleted.` };
    deletion = next;
  }
};

const promptName = (context: CommandContext, name: string, versions: number): Promise<string> =>
  context.promptText(
    `This deletes the workflow ${name}, up to version ${versions}, and all its runs, for good; open runs are cancelled. Its name:`,
    `--confirm ${name}`,
  );

/** Undefined once it is over: there is no such workflow, or another one by now. */
async function readProgress(
  client: StepwellClient,
  name: string,
  lastProgress: DeletionProgress,
  { signal }: CommandContext,
): Promise<DeletionProgress | undefined> {
  try {
    const { deletion, deletingSince } = await client.getWorkflow(name, {}, { signal });
    return deletion ?? (deletingSince === undefined ? undefined : lastProgress);
  } catch (error) {
    if (error instanceof ComputeClientError && error.code === 'workflow_not_found') return undefined;
    throw error;
  }
}
