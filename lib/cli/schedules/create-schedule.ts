import * as z from 'zod';
import type { Action } from '../command.ts';
import { argument, moment, optionsIn, present, scheduleId, workflowName } from '../given.ts';
import { termOptions, termsIn, versionNumber } from './terms.ts';
import { nextLine } from './told.ts';

const shape = z.object({
  ...termOptions,
  workflow: workflowName,
  workflowVersion: versionNumber.optional(),
  startAt: moment.optional(),
  endAt: moment.optional(),
  paused: z.boolean().default(false),
});

export const createSchedule: Action = async (given, shell) => {
  const id = argument(given, 0, 'scheduleId', scheduleId);
  const options = optionsIn(given, shape);
  const { workflow, workflowVersion: version, startAt, endAt, paused } = options;
  const terms = { ...termsIn(shell.cwd, options), ...present({ version, startAt, endAt }), workflowName: workflow, paused };
  const client = await shell.client();
  const made = await client.schedules.create({ scheduleId: id, ...terms }, { signal: shell.signal });
  return { data: made, text: nextLine(shell, made) };
};
