import * as z from 'zod';
import type { EndedRun, RunEvent, StepwellClient } from '../../client/index.ts';
import { readBodyFile } from '../body-file.ts';
import { type Action, type CommandContext, usageError } from '../command.ts';
import { parseArgument, file, json, nodeId, parseOptions, omitUndefined } from '../parse-command-line.ts';
import { formatEndedRun } from '../runs/format-ended-run.ts';
import { formatEvent } from '../runs/format-event.ts';
import { readInput, inputOptions } from '../runs/input.ts';
import type { WorkflowBody } from '../versions/versioned-resource.ts';

const pin = z.string().transform((text, context) => {
  const [, id, value] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const [node, output] = [nodeId.safeParse(id), json.safeParse(value)];
  if (node.success && output.success) return [node.data, { output: output.data }] as const;
  context.addIssue('must be a node id and JSON, such as price={"due":3}');
  return z.NEVER;
});
const shape = z.object({
  ...inputOptions,
  pin: z.array(pin).default([]),
  pinnedFile: file.optional(),
  keep: z.boolean().default(false),
});
type Pinned = NonNullable<Parameters<StepwellClient['testWorkflow']>[0]['pinned']>;

/** Runs what the file says, shows what happens, ends with how it ended, and leaves nothing behind unless it is to be kept. */
export const testWorkflow: Action = async (commandLine, context) => {
  const definition = readBodyFile<WorkflowBody & { name?: string }>(context.cwd, parseArgument(commandLine, 0, 'file', file));
  const options = parseOptions(commandLine, shape);
  const input = readInput(context.cwd, options);
  const pinned = readPinned(context.cwd, options);
  const client = await context.client();
  const body = { ...definition, ...omitUndefined({ input }), ...(Object.keys(pinned).length > 0 && { pinned }) };
  const { runId } = await client.testWorkflow(body, { signal: context.signal });
  const { run, events } = await watchUntilEnd(client, runId, context, options.keep);
  if (options.keep) context.log(`kept for a day, unless it is stopped: stepwell runs stop ${runId}`);
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
      // Of a run that is deleted, a program can read them nowhere else.
      if (context.isJson) events.push(event);
      context.print(formatEvent(context, event));
    }
    return { run: await client.result(runId, { signal }), events };
  } finally {
    // Also when it is interrupted: that is why the signal is not handed on.
    if (!keepRun) await client.stopTestRun(runId);
  }
}

/** Whether there are such nodes is judged by the service. @throws CliError for a node that is pinned twice */
function readPinned(cwd: string, { pin: pins, pinnedFile }: Pick<z.output<typeof shape>, 'pin' | 'pinnedFile'>): Pinned {
  const pinned = { ...(pinnedFile === undefined ? {} : readBodyFile<Pinned>(cwd, pinnedFile)) };
  for (const [node, output] of pins) {
    if (Object.hasOwn(pinned, node)) throw usageError(`${node} is pinned twice.`);
    pinned[node] = output;
  }
  return pinned;
}
