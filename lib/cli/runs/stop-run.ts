import type { Action } from '../command.ts';
import { argument, runId } from '../given.ts';

/** Of test runs: the service refuses others. */
export const stopRun: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const client = await shell.client();
  const stopped = await client.stopTestRun(id, { signal: shell.signal });
  return { data: stopped, text: `${id} is deleted with every trace of it.` };
};
