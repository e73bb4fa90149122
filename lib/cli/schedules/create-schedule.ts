import * as z from 'zod';
import type { Action } from '../command.ts';
import { parseArgument, timestamp, parseOptions, omitUndefined, scheduleId, workflowName } from '../parse-command-line.ts';
import { scheduleOptions, readScheduleOptions, versionNumber } from './schedule-options.ts';
import { formatNextRun } from './format-schedule.ts';

const shape = z.object({
  ...scheduleOptions,
  workflow: workflowName,
  workflowVersion: versionNumber.optional(),
  startAt: timestamp.optional(),
  endAt: timestamp.optional(),
  paused: z.boolean().default(false),
});

export const createSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const options = parseOptions(commandLine, shape);
  const { workflow, workflowVersion: version, startAt, endAt, paused } = options;
  const body = {
    ...readScheduleOptions(context.cwd, options),
    ...omitUndefined({ version, startAt, endAt }),
    workflowName: workflow,
    paused,
  };
  const client = await context.client();
  const schedule = await client.schedules.create({ scheduleId: id, ...body }, { signal: context.signal });
  return { data: schedule, text: formatNextRun(context, schedule) };
};
