import * as z from 'zod';
import type { StepwellClient } from '../../client/index.ts';
import { type Action, usageFault } from '../command.ts';
import { argument, file, optionsIn, present, readJson } from '../given.ts';
import { ending } from '../runs/ending.ts';
import { eventLine } from '../runs/event-line.ts';
import { inputIn, inputOptions } from '../runs/input.ts';
import { readDefinition } from './definition-file.ts';

const shape = z.object({ ...inputOptions, pinnedFile: file.optional(), stop: z.boolean().default(false) });
type Pinned = NonNullable<Parameters<StepwellClient['testWorkflow']>[0]['pinned']>;

/** Runs what the file says, shows what happens, and ends with how it ended. */
export const testWorkflow: Action = async (given, shell) => {
  const definition = readDefinition(shell.cwd, argument(given, 0, 'file', file));
  const options = optionsIn(given, shape);
  const input = inputIn(shell.cwd, options);
  const pinned = options.pinnedFile === undefined ? undefined : readPinned(shell.cwd, options.pinnedFile);
  const client = await shell.client();
  const { signal } = shell;
  const { runId } = await client.testWorkflow({ ...definition, ...present({ input, pinned }) }, { signal });
  for await (const event of client.followRunEvents(runId, {}, { signal })) shell.say(eventLine(shell, event));
  const run = await client.result(runId, { signal });
  if (options.stop) await client.stopTestRun(runId, { signal });
  else shell.note(`kept for a day: stepwell runs get ${runId}`);
  const { exitCode, sentence } = ending(shell, run);
  const output = run.output === undefined ? [] : [JSON.stringify(run.output, null, 2)];
  return { data: { run }, text: [sentence, ...output].join('\n'), exitCode };
};

/** What it holds is judged by the service, which names every fault's place; only its form is judged here. */
function readPinned(cwd: string, path: string): Pinned {
  const read = readJson(cwd, path);
  if (!isPinned(read)) throw usageFault(`${path} must hold a JSON object.`);
  return read;
}

const isPinned = (value: unknown): value is Pinned => typeof value === 'object' && value !== null && !Array.isArray(value);
