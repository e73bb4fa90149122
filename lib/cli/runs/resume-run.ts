/** `runs resume` and `runs wake`. */
import * as z from 'zod';
import type { Action } from '../command.ts';
import { parseArgument, json, nodeId, parseOptions, omitUndefined, runId } from '../parse-command-line.ts';

const resumeShape = z.object({ reason: z.string().min(1).max(1_024).optional(), payload: json.optional() });
const wakeShape = z.object({ node: z.array(nodeId).min(1).max(1_000).optional() });

export const resume: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { reason, payload } = parseOptions(commandLine, resumeShape);
  const client = await context.client();
  const resumed = await client.resumeRun({ runId: id, ...omitUndefined({ reason, payload }) }, { signal: context.signal });
  return { data: resumed, text: `${id} is told to go on.` };
};

export const wake: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { node } = parseOptions(commandLine, wakeShape);
  const client = await context.client();
  const woken = await client.wakeRun(id, omitUndefined({ nodeIds: node }), { signal: context.signal });
  return { data: woken, text: woken.woken.length === 0 ? 'Nothing slept.' : `Woken: ${woken.woken.join(', ')}.` };
};
