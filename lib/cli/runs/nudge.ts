/** `runs resume` and `runs wake`. */
import * as z from 'zod';
import type { Action } from '../command.ts';
import { argument, json, nodeId, optionsIn, present, runId } from '../given.ts';

const resumeShape = z.object({ reason: z.string().min(1).max(1_024).optional(), payload: json.optional() });
const wakeShape = z.object({ node: z.array(nodeId).min(1).max(1_000).optional() });

export const resume: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { reason, payload } = optionsIn(given, resumeShape);
  const client = await shell.client();
  const resumed = await client.resumeRun({ runId: id, ...present({ reason, payload }) }, { signal: shell.signal });
  return { data: resumed, text: `${id} is told to go on.` };
};

export const wake: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { node } = optionsIn(given, wakeShape);
  const client = await shell.client();
  const woken = await client.wakeRun(id, present({ nodeIds: node }), { signal: shell.signal });
  return { data: woken, text: woken.woken.length === 0 ? 'Nothing slept.' : `Woken: ${woken.woken.join(', ')}.` };
};
