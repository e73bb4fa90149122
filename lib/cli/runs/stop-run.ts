import type { Action } from '../command.ts';
import { parseArgument, runId } from '../parse-command-line.ts';

/** Of test runs: the service refuses others. */
export const stopRun: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const client = await context.client();
  const stopped = await client.stopTestRun(id, { signal: context.signal });
  return { data: stopped, text: `${id} is deleted with every trace of it.` };
};
