import * as z from 'zod';
import type { Action } from '../command.ts';
import { parseOptions } from '../parse-command-line.ts';
import { listOptions, readRows, moreRowsHint } from '../pages.ts';
import { formatTable } from '../format.ts';
import { formatScheduleState, formatTiming } from './format-schedule.ts';

const shape = z.object(listOptions);

export const listSchedules: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, shape);
  const client = await context.client();
  const found = await readRows(options, (page) => client.schedules.list(page, { signal: context.signal }));
  const rows = found.items.map((schedule) => [
    schedule.scheduleId,
    schedule.version === undefined ? schedule.workflowName : `${schedule.workflowName}@${schedule.version}`,
    formatTiming(schedule),
    formatScheduleState(context, schedule),
    schedule.nextRunAt ?? '',
    schedule.lastRun?.runId ?? '',
    schedule.lastFailure === undefined
      ? ''
      : `${schedule.lastFailure.scheduledAt}: ${schedule.lastFailure.code ?? schedule.lastFailure.outcome}`,
  ]);
  const headers = ['schedule', 'workflow', 'when', 'state', 'next', 'last run', 'last failure'];
  const text =
    rows.length === 0 ? 'There is no schedule.' : [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n');
  return { data: found, text };
};
