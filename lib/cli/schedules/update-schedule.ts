import * as z from 'zod';
import { type Action, usageError } from '../command.ts';
import { parseArgument, timestamp, parseOptions, omitUndefined, scheduleId } from '../parse-command-line.ts';
import { scheduleOptions, readScheduleOptions, versionNumber } from './schedule-options.ts';
import { formatNextRun } from './format-schedule.ts';

/** A word that takes away what was set. */
const nullWord = (word: string) => z.literal(word).transform(() => null);
const shape = z.object({
  ...scheduleOptions,
  workflowVersion: z.union([nullWord('latest'), versionNumber], { error: 'must be a number or "latest"' }).optional(),
  startAt: z.union([nullWord('none'), timestamp], { error: 'must be a time such as 2026-01-31T12:00:00Z, or "none"' }).optional(),
  endAt: z.union([nullWord('none'), timestamp], { error: 'must be a time such as 2026-01-31T12:00:00Z, or "none"' }).optional(),
});

export const updateSchedule: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'scheduleId', scheduleId);
  const options = parseOptions(commandLine, shape);
  const { workflowVersion: version, startAt, endAt } = options;
  const body = { ...readScheduleOptions(context.cwd, options), ...omitUndefined({ version, startAt, endAt }) };
  if (Object.keys(body).length === 0) throw usageError('Give what is to be changed.');
  const client = await context.client();
  const changed = await client.schedules.update(id, body, { signal: context.signal });
  return { data: changed, text: formatNextRun(context, changed) };
};
