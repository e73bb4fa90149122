import * as z from 'zod';
import { type Action, usageFault } from '../command.ts';
import { argument, moment, optionsIn, present, scheduleId } from '../given.ts';
import { termOptions, termsIn, versionNumber } from './terms.ts';
import { nextLine } from './told.ts';

/** A word that takes away what was set. */
const away = (word: string) => z.literal(word).transform(() => null);
const shape = z.object({
  ...termOptions,
  workflowVersion: z.union([away('latest'), versionNumber], { error: 'must be a number or "latest"' }).optional(),
  startAt: z.union([away('none'), moment], { error: 'must be a time such as 2026-01-31T12:00:00Z, or "none"' }).optional(),
  endAt: z.union([away('none'), moment], { error: 'must be a time such as 2026-01-31T12:00:00Z, or "none"' }).optional(),
});

export const updateSchedule: Action = async (given, shell) => {
  const id = argument(given, 0, 'scheduleId', scheduleId);
  const options = optionsIn(given, shape);
  const { workflowVersion: version, startAt, endAt } = options;
  const terms = { ...termsIn(shell.cwd, options), ...present({ version, startAt, endAt }) };
  if (Object.keys(terms).length === 0) throw usageFault('Give what is to be changed.');
  const client = await shell.client();
  const changed = await client.schedules.update(id, terms, { signal: shell.signal });
  return { data: changed, text: nextLine(shell, changed) };
};
