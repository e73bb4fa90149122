import * as z from 'zod';
import type { EndedRun, RunEvent, StepwellClient } from '../../client/index.ts';
import { readBody } from '../body-file.ts';
import { type Action, type Shell, usageFault } from '../command.ts';
import { argument, file, json, nodeId, optionsIn, present } from '../given.ts';
import { ending } from '../runs/ending.ts';
import { eventLine } from '../runs/event-line.ts';
import { inputIn, inputOptions } from '../runs/input.ts';
import type { WorkflowBody } from '../versions/kinds.ts';

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
export const testWorkflow: Action = async (given, shell) => {
  const definition = readBody<WorkflowBody & { name?: string }>(shell.cwd, argument(given, 0, 'file', file));
  const options = optionsIn(given, shape);
  const input = inputIn(shell.cwd, options);
  const pinned = pinnedIn(shell.cwd, options);
  const client = await shell.client();
  const asked = { ...definition, ...present({ input }), ...(Object.keys(pinned).length > 0 && { pinned }) };
  const { runId } = await client.testWorkflow(asked, { signal: shell.signal });
  const { run, events } = await watched(client, runId, shell, options.keep);
  if (options.keep) shell.note(`kept for a day, unless it is stopped: stepwell runs stop ${runId}`);
  const { exitCode, sentence } = ending(shell, run);
  const output = run.output === undefined ? [] : [JSON.stringify(run.output, null, 2)];
  return { data: { run, events, kept: options.keep }, text: [sentence, ...output].join('\n'), exitCode };
};

async function watched(
  client: StepwellClient,
  runId: string,
  shell: Shell,
  keeps: boolean,
): Promise<{ readonly run: EndedRun; readonly events: readonly RunEvent[] }> {
  const { signal } = shell;
  const events: RunEvent[] = [];
  try {
    for await (const event of client.followRunEvents(runId, {}, { signal })) {
      // Of a run that is deleted, a program can read them nowhere else.
      if (shell.isJson) events.push(event);
      shell.say(eventLine(shell, event));
    }
    return { run: await client.result(runId, { signal }), events };
  } finally {
    // Also when it is interrupted: that is why the signal is not handed on.
    if (!keeps) await client.stopTestRun(runId);
  }
}

/** Whether there are such nodes is judged by the service. @throws CliFault for a node that is pinned twice */
function pinnedIn(cwd: string, { pin: pins, pinnedFile }: Pick<z.output<typeof shape>, 'pin' | 'pinnedFile'>): Pinned {
  const pinned = { ...(pinnedFile === undefined ? {} : readBody<Pinned>(cwd, pinnedFile)) };
  for (const [node, output] of pins) {
    if (Object.hasOwn(pinned, node)) throw usageFault(`${node} is pinned twice.`);
    pinned[node] = output;
  }
  return pinned;
}
