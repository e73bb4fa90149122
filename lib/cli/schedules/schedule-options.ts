/** What a schedule is told on the command line, where it is made and where it is changed. */
import * as z from 'zod';
import { overlapPolicies } from '../../engine/schedule/overlap.ts';
import { usageError } from '../command.ts';
import { integerBetween, omitUndefined, workflowName } from '../parse-command-line.ts';
import { readInput, inputOptions } from '../runs/input.ts';

const nonEmptyText = z.string().min(1, 'must not be empty');
export const scheduleOptions = {
  ...inputOptions,
  workflow: workflowName.optional(),
  cron: nonEmptyText.optional(),
  rate: nonEmptyText.optional(),
  timeZone: nonEmptyText.optional(),
  overlap: z.enum(overlapPolicies).optional(),
  catchUpSeconds: integerBetween(120, 86_400).optional(),
};
const shape = z.object(scheduleOptions);
export const versionNumber = integerBetween(1, Number.MAX_SAFE_INTEGER);

/** For the body of a request, without what was not given. @throws CliError */
export function readScheduleOptions(cwd: string, options: z.output<typeof shape>) {
  const { workflow, cron, rate, timeZone, overlap, catchUpSeconds } = options;
  if (cron !== undefined && rate !== undefined) throw usageError('--cron and --rate exclude each other.');
  return omitUndefined({ workflowName: workflow, input: readInput(cwd, options), cron, rate, timeZone, overlap, catchUpSeconds });
}
