/** `schedules pause`, `schedules resume` and `schedules delete`. */
import type { Action } from '../command.ts';
import { argument, scheduleId } from '../given.ts';
import { nextLine } from './told.ts';

export const pauseSchedule: Action = async (given, shell) => {
  const id = argument(given, 0, 'scheduleId', scheduleId);
  const client = await shell.client();
  const paused = await client.schedules.pause(id, { signal: shell.signal });
  return { data: paused, text: nextLine(shell, paused) };
};

export const resumeSchedule: Action = async (given, shell) => {
  const id = argument(given, 0, 'scheduleId', scheduleId);
  const client = await shell.client();
  const resumed = await client.schedules.resume(id, { signal: shell.signal });
  return { data: resumed, text: nextLine(shell, resumed) };
};

export const deleteSchedule: Action = async (given, shell) => {
  const id = argument(given, 0, 'scheduleId', scheduleId);
  const client = await shell.client();
  const deleted = await client.schedules.delete(id, { signal: shell.signal });
  return { data: deleted, text: `${id} is deleted; runs that it started go on.` };
};
