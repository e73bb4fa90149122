import * as z from 'zod';
import { type RunEvent, isDelta } from '../../client/index.ts';
import type { Action } from '../command.ts';
import { argument, optionsIn, present, runId } from '../given.ts';
import { ending } from './ending.ts';
import { eventLine, saidLine } from './event-line.ts';
import { eventIdOption } from './list-events.ts';

const shape = z.object({ after: eventIdOption });

export const watchRun: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { after } = optionsIn(given, shape);
  const client = await shell.client();
  const { signal } = shell;
  const events: RunEvent[] = [];
  for await (const news of client.watchRun(id, present({ after }), { signal })) {
    if (isDelta(news)) {
      shell.say(saidLine(shell, news));
      continue;
    }
    // Told as they come, so nobody needs them once more at the end.
    if (shell.isJson) events.push(news);
    shell.say(eventLine(shell, news));
  }
  const run = await client.result(id, { signal });
  const { exitCode, sentence } = ending(shell, run);
  return { data: { run, events }, text: sentence, exitCode };
};
