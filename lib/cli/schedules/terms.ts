/** What a schedule is told on the command line, where it is made and where it is changed. */
import * as z from 'zod';
import { overlapPolicies } from '../../engine/schedule/overlap.ts';
import { usageFault } from '../command.ts';
import { count, present, workflowName } from '../given.ts';
import { inputIn, inputOptions } from '../runs/input.ts';

const text = z.string().min(1, 'must not be empty');
export const termOptions = {
  ...inputOptions,
  workflow: workflowName.optional(),
  cron: text.optional(),
  rate: text.optional(),
  timeZone: text.optional(),
  overlap: z.enum(overlapPolicies).optional(),
  catchUpSeconds: count(120, 86_400).optional(),
};
const shape = z.object(termOptions);
export const versionNumber = count(1, Number.MAX_SAFE_INTEGER);

/** For the body of a request, without what was not given. @throws CliFault */
export function termsIn(cwd: string, given: z.output<typeof shape>) {
  const { workflow, cron, rate, timeZone, overlap, catchUpSeconds } = given;
  if (cron !== undefined && rate !== undefined) throw usageFault('--cron and --rate exclude each other.');
  return present({ workflowName: workflow, input: inputIn(cwd, given), cron, rate, timeZone, overlap, catchUpSeconds });
}
