/** `stepwell start`: runs the embedded cloud in this folder until Ctrl-C. */
import * as z from 'zod';
import { type Action, exitCodes } from '../command.ts';
import { integerBetween, parseOptions } from '../parse-command-line.ts';
import { exitOf, spawnCloud } from './cloud-process.ts';

const startOptions = z.object({ port: integerBetween(0, 65_535).optional(), allowLocalhost: z.boolean().default(false) });

export const start: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, startOptions);
  const cloud = spawnCloud(context, options, 'inherit');
  // The terminal interrupts both processes; another program interrupts only this one.
  context.signal.addEventListener('abort', () => cloud.kill('SIGTERM'), { once: true });
  const code = await exitOf(cloud);
  // The cloud has printed why.
  return { data: {}, text: '', exitCode: code === 0 ? exitCodes.ok : exitCodes.failed };
};
