import * as z from 'zod';
import { type RunEvent, isDelta } from '../../client/index.ts';
import type { Action } from '../command.ts';
import { parseArgument, parseOptions, omitUndefined, runId } from '../parse-command-line.ts';
import { formatEndedRun } from './format-ended-run.ts';
import { formatEvent, formatDelta } from './format-event.ts';
import { eventIdOption } from './list-events.ts';

const shape = z.object({ after: eventIdOption });

export const watchRun: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { after } = parseOptions(commandLine, shape);
  const client = await context.client();
  const { signal } = context;
  const events: RunEvent[] = [];
  for await (const update of client.watchRun(id, omitUndefined({ after }), { signal })) {
    if (isDelta(update)) {
      context.print(formatDelta(context, update));
      continue;
    }
    // Told as they come, so nobody needs them once more at the end.
    if (context.isJson) events.push(update);
    context.print(formatEvent(context, update));
  }
  const run = await client.result(id, { signal });
  const { exitCode, summary } = formatEndedRun(context, run);
  return { data: { run, events }, text: summary, exitCode };
};
