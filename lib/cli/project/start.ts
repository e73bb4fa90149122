/** `stepwell start`: runs the embedded cloud in this folder until Ctrl-C, and prints what runs do. */
import type { ChildProcess } from 'node:child_process';
import * as z from 'zod';
import { type Action, type CommandContext, exitCodes } from '../command.ts';
import { readLocalInstallation } from '../connection.ts';
import { consoleLine } from '../console-link.ts';
import { integerBetween, parseOptions } from '../parse-command-line.ts';
import { exitOf, spawnCloud } from './cloud-process.ts';
import { waitUntilRunning } from './ensure-cloud.ts';

const startOptions = z.object({ port: integerBetween(0, 65_535).optional(), allowLocalhost: z.boolean().default(false) });

export const start: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, startOptions);
  const cloud = spawnCloud(context, options, 'inherit');
  // The terminal interrupts both processes; another program interrupts only this one.
  context.signal.addEventListener('abort', () => cloud.kill('SIGTERM'), { once: true });
  const ended = new AbortController();
  const exit = exitOf(cloud).finally(() => ended.abort());
  const signal = AbortSignal.any([context.signal, ended.signal]);
  const [code] = await Promise.all([exit, printLinesOf({ ...context, signal }, cloud)]);
  // The cloud has printed why.
  return { data: {}, text: '', exitCode: code === 0 ? exitCodes.ok : exitCodes.failed };
};

/** Uses the key of this cloud, also where a profile names another installation. */
async function printLinesOf(context: CommandContext, cloud: ChildProcess): Promise<void> {
  if (!(await waitUntilRunning(context, cloud))) return;
  const local = readLocalInstallation(context);
  if (local === undefined) return;
  const [{ StepwellClient }, { printRunLines }] = await Promise.all([import('../../client/index.ts'), import('./run-lines.ts')]);
  const { fetch, sleep } = context;
  const client = new StepwellClient({ baseUrl: local.url, apiKey: local.apiKey, fetchImpl: fetch, sleep });
  context.print((await consoleLine(client, local.url, context.signal)).line);
  await printRunLines(context, client);
}
