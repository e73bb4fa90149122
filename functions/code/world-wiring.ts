/** Wires the function of the World. */
import { functionClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { WorldFunction } from '../../lib/aws/world-function.ts';
import type { WorldCalls } from '../../lib/ports/world-calls.ts';

/** Serves calls of deployed code about other runs; undefined where the process has no function for them. */
export function worldFunction(): WorldCalls | undefined {
  const name = settingsFrom(process.env).worldFunction;
  return name === undefined ? undefined : new WorldFunction(functionClient(), name);
}

/** Whether the function of the World has keys of runs. */
export const encryptsRuns = (): boolean => settingsFrom(process.env).encryptsRuns;
