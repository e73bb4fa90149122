import * as z from 'zod';
import type { Action } from '../command.ts';
import { optionsIn } from '../given.ts';
import { listOptions, listed, moreLine } from '../pages.ts';
import { table } from '../words.ts';
import { stateOf, timingOf } from './told.ts';

const shape = z.object(listOptions);

export const listSchedules: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const client = await shell.client();
  const found = await listed(options, (page) => client.schedules.list(page, { signal: shell.signal }));
  const rows = found.items.map((schedule) => [
    schedule.scheduleId,
    schedule.version === undefined ? schedule.workflowName : `${schedule.workflowName}@${schedule.version}`,
    timingOf(schedule),
    stateOf(shell, schedule),
    schedule.nextRunAt ?? '',
    schedule.lastRun?.runId ?? '',
    schedule.lastFailure === undefined
      ? ''
      : `${schedule.lastFailure.scheduledAt}: ${schedule.lastFailure.code ?? schedule.lastFailure.outcome}`,
  ]);
  const heads = ['schedule', 'workflow', 'when', 'state', 'next', 'last run', 'last failure'];
  const text = rows.length === 0 ? 'There is no schedule.' : [table(shell, heads, rows), ...moreLine(found)].join('\n');
  return { data: found, text };
};
