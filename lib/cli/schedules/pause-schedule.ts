/** `schedules pause`, `schedules resume` and `schedules delete`. */
import type { Action } from '../command.ts';
import { parseArgument, scheduleId } from '../parse-command-line.ts';
import { formatNextRun } from './format-schedule.ts';

export const pauseSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const client = await context.client();
  const paused = await client.schedules.pause(id, { signal: context.signal });
  return { data: paused, text: formatNextRun(context, paused) };
};

export const resumeSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const client = await context.client();
  const resumed = await client.schedules.resume(id, { signal: context.signal });
  return { data: resumed, text: formatNextRun(context, resumed) };
};

export const deleteSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const client = await context.client();
  const deleted = await client.schedules.delete(id, { signal: context.signal });
  return { data: deleted, text: `${id} is deleted; runs that it started go on.` };
};
