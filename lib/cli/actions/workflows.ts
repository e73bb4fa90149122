/** `stepwell workflows validate`, `versions`, `test` and `delete`. */
import * as z from 'zod';
import { type DeletionProgress, formatDeletionProgress, formatFindings, type WorkflowBody } from './definitions.ts';
import { formatEndedRun, formatEvent } from './format-run.ts';
import { type Action, CliError, type CommandContext, exitCodes, pause, usageError } from '../command.ts';
import { formatTable } from '../format.ts';
import { listOptions, moreRowsHint, readRows } from '../pages.ts';
import {
  file,
  inputOptions,
  json,
  nodeId,
  omitUndefined,
  parseArgument,
  parseOptions,
  readBodyFile,
  readInput,
  workflowName,
} from '../parse-command-line.ts';
import { ComputeClientError } from '../../client/errors.ts';
import type { EndedRun, RunEvent, StepwellClient } from '../../client/index.ts';

export const validateWorkflow: Action = async (commandLine, context) => {
  const path = parseArgument(commandLine, 0, 'file', file);
  const definition = readBodyFile<WorkflowBody & { name?: string }>(context.cwd, path);
  const client = await context.client();
  const validation = await client.validateWorkflow(definition, { signal: context.signal });
  const { valid, findings } = validation;
  const resultLine = valid ? context.colorize('good', `✓ ${path} is valid`) : context.colorize('bad', `✗ ${path} has errors`);
  const successExitCode = findings.length > 0 ? exitCodes.warned : exitCodes.ok;
  return {
    data: validation,
    text: [...formatFindings(findings), resultLine].join('\n'),
    exitCode: valid ? successExitCode : exitCodes.failed,
  };
};

const pin = z.string().transform((text, context) => {
  const [, id, value] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const [node, output] = [nodeId.safeParse(id), json.safeParse(value)];
  if (node.success && output.success) return [node.data, { output: output.data }] as const;
  context.addIssue('must be a node id and JSON, such as price={"due":3}');
  return z.NEVER;
});
const testWorkflowOptions = z.object({
  ...inputOptions,
  pin: z.array(pin).default([]),
  pinnedFile: file.optional(),
  keep: z.boolean().default(false),
});
type Pinned = NonNullable<Parameters<StepwellClient['testWorkflow']>[0]['pinned']>;

/** Runs the definition, prints its events and its end, and deletes the test run unless `--keep` is set. */
export const testWorkflow: Action = async (commandLine, context) => {
  const definition = readBodyFile<WorkflowBody & { name?: string }>(context.cwd, parseArgument(commandLine, 0, 'file', file));
  const options = parseOptions(commandLine, testWorkflowOptions);
  const input = readInput(context.cwd, options);
  const pinned = readPinned(context.cwd, options);
  const client = await context.client();
  const body = { ...definition, ...omitUndefined({ input }), ...(Object.keys(pinned).length > 0 && { pinned }) };
  const { runId } = await client.testWorkflow(body, { signal: context.signal });
  const { run, events } = await watchUntilEnd(client, runId, context, options.keep);
  if (options.keep) context.log(`The test run is kept for one day. Delete it earlier: stepwell runs stop ${runId}`);
  const { exitCode, summary } = formatEndedRun(context, run);
  const output = run.output === undefined ? [] : [JSON.stringify(run.output, null, 2)];
  return { data: { run, events, kept: options.keep }, text: [summary, ...output].join('\n'), exitCode };
};

async function watchUntilEnd(
  client: StepwellClient,
  runId: string,
  context: CommandContext,
  keepRun: boolean,
): Promise<{ readonly run: EndedRun; readonly events: readonly RunEvent[] }> {
  const { signal } = context;
  const events: RunEvent[] = [];
  try {
    for await (const event of client.followRunEvents(runId, {}, { signal })) {
      // The test run is deleted afterwards, so --json prints its events.
      if (context.isJson) events.push(event);
      context.print(formatEvent(context, event));
    }
    return { run: await client.result(runId, { signal }), events };
  } finally {
    // Delete the run after an interrupt too; therefore the aborted signal is not passed on.
    if (!keepRun) await client.stopTestRun(runId);
  }
}

/** The API validates the node ids. @throws CliError for a node that is pinned twice */
function readPinned(
  cwd: string,
  { pin: pins, pinnedFile }: Pick<z.output<typeof testWorkflowOptions>, 'pin' | 'pinnedFile'>,
): Pinned {
  const pinned = { ...(pinnedFile === undefined ? {} : readBodyFile<Pinned>(cwd, pinnedFile)) };
  for (const [node, output] of pins) {
    if (Object.hasOwn(pinned, node)) throw usageError(`${node} is pinned twice.`);
    pinned[node] = output;
  }
  return pinned;
}

export const listVersions: Action = async (commandLine, context) => {
  const name = parseArgument(commandLine, 0, 'name', workflowName);
  const options = parseOptions(commandLine, z.object(listOptions));
  const client = await context.client();
  const found = await readRows(options, (page) => client.listVersions(name, page, { signal: context.signal }));
  const rows = found.items.map(({ version, createdAt, createdBy = '', note = '' }) => [
    String(version),
    createdAt,
    createdBy,
    note.replaceAll(/\s+/g, ' '),
  ]);
  const text = [formatTable(context, ['version', 'created', 'by', 'note'], rows), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};

const deleteWorkflowOptions = z.object({ confirm: z.string().optional(), wait: z.boolean().default(true) });

/** The service continues a deletion once a minute. */
const pauseMs = 5_000;

export const deleteWorkflow: Action = async (commandLine, context) => {
  const name = parseArgument(commandLine, 0, 'name', workflowName);
  const options = parseOptions(commandLine, deleteWorkflowOptions);
  const client = await context.client();
  const { latestVersion } = await client.getWorkflow(name, {}, { signal: context.signal });
  const confirm = options.confirm ?? (await promptName(context, name, latestVersion));
  if (confirm !== name)
    throw new CliError('declined', `The confirmation does not match: ${name} was not deleted.`, exitCodes.usage);
  let { deletion } = await client.deleteWorkflow(name, { confirm }, { signal: context.signal });
  if (!options.wait) {
    const text = `${name} is being deleted. stepwell workflows get ${name} shows the progress.`;
    return { data: { name, deleted: false, deletion }, text };
  }
  context.log(`${name} accepts no runs and no versions any more. Its runs are deleted within minutes.`);
  for (let lastPrinted = ''; ;) {
    const line = formatDeletionProgress(deletion);
    if (line !== lastPrinted) context.log((lastPrinted = line));
    await pause(context, pauseMs);
    const next = await readProgress(client, name, deletion, context);
    if (next === undefined) return { data: { name, deleted: true }, text: `${name} is deleted.` };
    deletion = next;
  }
};

const promptName = (context: CommandContext, name: string, latestVersion: number): Promise<string> =>
  context.promptText(
    `This permanently deletes the workflow ${name}, versions 1 to ${latestVersion}, and all its runs; open runs are cancelled. Type its name:`,
    `--confirm ${name}`,
  );

/** Undefined once the deletion is complete: the name is unknown, or belongs to a new workflow. */
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
